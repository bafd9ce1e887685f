package rules

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// conditionSpec is one item of spec.conditions.
type conditionSpec struct {
	typ   string
	pos   diagnostic.Position // of the type
	index int
	// Each is nil where it was left out or could not be read.
	status, reason, message *yamltree.Node
	gaps                    gaps
}

// eventSpec is one item of spec.events.
type eventSpec struct {
	index int
	typ   string
	// Each is nil where it was left out or could not be read.
	when, reason, message *yamltree.Node
	gaps                  gaps
}

const (
	eventNormal  = "Normal"
	eventWarning = "Warning"
)

func (d *decoder) conditions(n *yamltree.Node) []conditionSpec {
	var out []conditionSpec
	for i, item := range d.list(n, "spec.conditions") {
		out = append(out, d.condition(item, i, out))
	}
	return out
}

func (d *decoder) condition(n *yamltree.Node, index int, before []conditionSpec) conditionSpec {
	path := fmt.Sprintf("spec.conditions[%d]", index)
	c := conditionSpec{index: index, pos: d.src.At(n)}
	c.gaps = d.object(n, path, fields{
		"type": func(n *yamltree.Node) {
			c.pos = d.src.At(n)
			typ, ok := d.plainString(n, path+".type")
			if !ok {
				return
			}
			if wrong := validation.IsQualifiedName(typ); len(wrong) > 0 {
				d.report(n, diagnostic.CodeConditionType, "%s.type: %q is not a type that conditions can have", path, typ).
					WithHint("write letters and digits, as in %s", "DatabaseReady")
				return
			}
			if slices.ContainsFunc(before, func(o conditionSpec) bool { return o.typ == typ }) {
				d.report(n, diagnostic.CodeNameTwice, "two conditions have the type %q", typ)
			}
			c.typ = typ
		},
		"status": func(n *yamltree.Node) { c.status = d.conditionStatus(n, path+".status") },
		"reason": func(n *yamltree.Node) { c.reason = d.reason(n, path+".reason", maxConditionReason) },
		"message": func(n *yamltree.Node) {
			c.message = d.templateText(n, path+".message")
		},
	}, "type", "status")
	return c
}

// conditionStatus is what a condition's status is made of. YAML reads True and
// False as booleans, which are meant as well.
func (d *decoder) conditionStatus(n *yamltree.Node, path string) *yamltree.Node {
	_, isBool := n.Value.(bool)
	text, _ := n.Text()
	if n.Kind == yamltree.Scalar && (isBool || hasExpression(text) || isConditionStatus(text)) {
		return n
	}
	d.report(n, diagnostic.CodeNotOneOf, `%s must be True, False or Unknown, or an expression that gives one of these, true or false; it is %s`, path, shown(n)).
		WithHint("%s", diagnostic.DidYouMean(text, []string{"True", "False", "Unknown"}))
	return nil
}

func isConditionStatus(s string) bool { return s == "True" || s == "False" || s == "Unknown" }

// reason is a word for machines, as far as it is written out.
func (d *decoder) reason(n *yamltree.Node, path string, longest int) *yamltree.Node {
	if d.templateText(n, path) == nil {
		return nil
	}
	if text, _ := n.Text(); !hasExpression(text) {
		if wrong := wrongReason(text, longest); wrong != "" {
			d.report(n, diagnostic.CodeReason, "%s %s, and is %q", path, wrong, text).WithHint("%s", reasonHint(text))
			return nil
		}
	}
	return n
}

func reasonHint(text string) string {
	if name := camelCase(text); name != "" {
		return name
	}
	return `write a word such as "Available"`
}

// templateText is a string that may hold expressions; nil after a finding.
func (d *decoder) templateText(n *yamltree.Node, path string) *yamltree.Node {
	if _, ok := n.Text(); !ok {
		d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What()).WithHint("%s", quotesFor(n))
		return nil
	}
	return n
}

func (d *decoder) events(n *yamltree.Node) []eventSpec {
	var out []eventSpec
	for i, item := range d.list(n, "spec.events") {
		out = append(out, d.event(item, i))
	}
	return out
}

func (d *decoder) event(n *yamltree.Node, index int) eventSpec {
	path := fmt.Sprintf("spec.events[%d]", index)
	e := eventSpec{index: index, typ: eventNormal}
	e.gaps = d.object(n, path, fields{
		"when": func(n *yamltree.Node) { e.when = d.expression(n, path+".when") },
		"type": func(n *yamltree.Node) {
			typ, ok := d.plainString(n, path+".type")
			if ok && typ != eventNormal && typ != eventWarning {
				d.report(n, diagnostic.CodeNotOneOf, "%s.type must be Normal or Warning, and is %q", path, typ).
					WithHint("%s", diagnostic.DidYouMean(typ, []string{eventNormal, eventWarning}))
			}
			e.typ = typ
		},
		"reason":  func(n *yamltree.Node) { e.reason = d.reason(n, path+".reason", maxEventReason) },
		"message": func(n *yamltree.Node) { e.message = d.templateText(n, path+".message") },
	}, "reason", "message")
	return e
}

const (
	// maxConditionReason and maxConditionMessage are what metav1.Condition allows,
	// and maxEventReason what the API server takes in an Event, in bytes.
	maxConditionReason  = 1024
	maxConditionMessage = 32768
	maxEventReason      = 128
)

// wrongReason says what is asked of a reason that is none, "" of one that is: it
// is what metav1.Condition allows, [A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?.
func wrongReason(s string, longest int) string {
	if len(s) > longest {
		return fmt.Sprintf("must have at most %d characters", longest)
	}
	ok := s != "" && isLetter(s[0])
	for i := range len(s) {
		last := i == len(s)-1
		ok = ok && (isNameByte(s[i]) || !last && (s[i] == ',' || s[i] == ':'))
	}
	if !ok {
		return "must be one word of letters, digits and _ that begins with a letter"
	}
	return ""
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
