package rules

import (
	"strconv"

	"kanon.dev/kanon/rules/syntax"
)

// notShown stands in a message in place of a value, or of an error that may hold one,
// of a rule that has to do with Secrets: messages become conditions, Events and lines
// of logs, which more people read than Secrets.
const notShown = "(not shown, because the rule has to do with Secrets)"

// HasSecrets says whether the parent, a lookup, a child or the target of a patch of the
// rule is a Secret. What
// is said of an evaluation has no values then, and what others say of its objects,
// such as the API server, is not to be passed on with values either.
func (p *Program) HasSecrets() bool { return p.secrets }

func (p *Program) findSecrets() bool {
	if syntax.IsSecret(p.parent.GVK) {
		return true
	}
	for _, l := range p.lookups {
		if syntax.IsSecret(l.GVK) {
			return true
		}
	}
	for _, c := range p.children {
		if syntax.IsSecret(c.GVK) {
			return true
		}
	}
	for _, patch := range p.patches {
		if syntax.IsSecret(patch.GVK) {
			return true
		}
	}
	return false
}

// shown is a value as a message quotes it.
func (e *Evaluation) shown(value string) string {
	if e.prog.secrets {
		return notShown
	}
	return strconv.Quote(shorten(value))
}

// reason is what a message says of an error.
func (e *Evaluation) reason(err error) string {
	text := cleanError(err)
	switch text {
	case "no such overload", "division by zero", "modulus by zero", "integer overflow", "unsigned integer overflow":
		return text // there is no value in these
	}
	if e.prog.secrets {
		return "it fails; why is not shown, because the rule has to do with Secrets"
	}
	return text
}
