package catalog

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/request"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Rule is a rule as it is after an update.
type Rule struct {
	ID   string
	Name types.NamespacedName
	// Origin has the text of the newest revision; zero if no source has that any more.
	Origin source.Origin
	// Program is the last good revision. It is nil if the rule must not run now: no
	// revision has compiled, the cluster lacks the kind of the parents, or the rule is suspended.
	Program *program.Program
	// Newest is the newest revision that could be decoded.
	Newest *syntax.Rule
	// Confirmed are the revisions that may delete what they would, as the document,
	// its origin or the record of a rule in a file says.
	Confirmed []string
	// Verbosity is how much is to be logged about the rule, as the document or its origin says.
	Verbosity int
	// isGood is true if Newest is the last good revision.
	isGood bool
}

// OnRuleDeletion is what happens to the children if the rule is removed while it does not
// run. before is what applied so far: a revision that does not compile can only have them
// kept.
func (r *Rule) OnRuleDeletion(before syntax.RuleDeletion) syntax.RuleDeletion {
	newest := r.Newest.OnRuleDeletion()
	if r.isGood || newest == before {
		return newest
	}
	return syntax.OrphanChildren
}

// revisions are the revisions of one rule that matter.
type revisions struct {
	id   string
	name types.NamespacedName
	// text is the name of the text with the newest revision.
	text string
	// newest is the newest revision that could be decoded. compiled is the one that was
	// compiled last, with these findings: newest, or an earlier one while newest waits.
	newest, compiled *syntax.Rule
	findings         diagnostic.Findings
	// good is the newest revision that compiled, as program; nil until one has.
	good    *syntax.Rule
	program *program.Program
	// origin is where the text of good was when it was compiled.
	origin source.Origin
	// due and goodDue are true while newest, and good if that is another one, have to be
	// compiled. waits is what newest waits for.
	due, goodDue bool
	waits        string
	// reportedMissing is the revision of which it was reported that it lacks kinds.
	reportedMissing *syntax.Rule
}

// lacksKinds tells whether the newest revision does not run only because the cluster lacks a kind.
func (r *revisions) lacksKinds() bool {
	return r.compiled == r.newest && r.findings.HasErrors() && !slices.ContainsFunc(r.findings, func(f diagnostic.Finding) bool {
		return f.Severity == diagnostic.SeverityError && f.Missing == nil
	})
}

// kinds lists the kinds that the newest revision and the last good one name.
func (r *revisions) kinds() []schema.GroupVersionKind {
	kinds := r.newest.Kinds()
	if r.good != nil && r.good != r.newest {
		kinds = append(kinds, r.good.Kinds()...)
	}
	return kinds
}

// recompile compiles what is due of a rule, and what uses a kind that changed. A revision
// with errors is compiled again after every change: a finding may suggest any kind.
func (c *Catalog) recompile(r *revisions, changed KindSet) {
	uses := changed.HasAny(r.kinds()...)
	r.goodDue = r.goodDue || uses
	r.due = r.due || uses || r.findings.HasErrors() && len(changed) > 0
	c.recompileGood(r)
	if !r.due {
		return
	}
	if r.waits = c.waitsFor(r.text, r.newest, r.newest.Kinds()); r.waits == "" {
		r.due = false
		c.compileNewest(r)
	}
}

// recompileGood compiles the last good revision again if it is due. If it does not compile
// any more, the program stays as it is.
func (c *Catalog) recompileGood(r *revisions) {
	switch {
	case !r.goodDue:
	case r.program == nil || r.good == r.newest:
		r.goodDue = false
	case c.waitsFor("", nil, r.good.Kinds()) == "":
		r.goodDue = false
		if program, _ := rules.Compile(r.good, c.optionsFor(r)); program != nil {
			r.program = program
		}
	}
}

// compileNewest compiles the newest revision. If that succeeds, it is the last good one. A text with other comments, or with other
// annotations that do not count, has the same revision: unless it moved to another origin, the program that runs goes on, which recompileGood has made of its kinds as
// they are, and only the lines of the findings are new.
func (c *Catalog) compileNewest(r *revisions) {
	program, findings := rules.Compile(r.newest, c.optionsFor(r))
	r.compiled, r.findings = r.newest, findings
	if program == nil {
		return
	}
	var origin source.Origin
	if t := c.texts[r.text]; t != nil {
		origin = t.origin
	}
	if r.good == nil || r.good == r.newest || r.good.Hash() != r.newest.Hash() || r.origin != origin {
		r.program = program
	}
	r.good, r.origin = r.newest, origin
}

// runnable is the program of Rule.
func (c *Catalog) runnable(r *revisions) *program.Program {
	if r.program == nil || c.isSuspended(r) || c.lacksParentKind(r) {
		return nil
	}
	return r.program
}

// isSuspended tells whether the last good revision is suspended, or the rule is by an annotation of its record.
func (c *Catalog) isSuspended(r *revisions) bool {
	return r.good.Suspend || c.annotationsOf(r).Suspended
}

// annotationsOf are the annotations that people set about a rule: on the object that has its text, or on the record of a rule in a
// file. Whoever may write in Kanon's namespace may write rules there, so no seal proves them.
func (c *Catalog) annotationsOf(r *revisions) source.Annotations {
	t := c.texts[r.text]
	if t == nil {
		return source.Annotations{}
	}
	if t.origin.Path != "" {
		return c.annotations(r.id)
	}
	of := c.origins[t.origin]
	of.Suspended = false
	return of
}

// lacksParentKind tells whether the cluster lacks the kind of the parents of the last good
// revision.
func (c *Catalog) lacksParentKind(r *revisions) bool {
	_, ok := c.compiling.Kinds.Lookup(r.program.Parent.GVK)
	return !ok
}

// rule is what Rules lists of a rule.
func (c *Catalog) rule(r *revisions) Rule {
	rule := Rule{ID: r.id, Name: r.name, Program: c.runnable(r), Newest: r.newest, isGood: r.newest == r.good}
	if t := c.texts[r.text]; t != nil {
		rule.Origin = t.origin
	}
	annotations := c.annotationsOf(r)
	rule.Confirmed, rule.Verbosity = syntax.ConfirmedRevisions(annotations.ConfirmPrune), request.Verbosity(annotations.Verbosity)
	if r.good != nil {
		rule.Confirmed = slices.Concat(rule.Confirmed, r.good.Confirmed())
	}
	rule.Verbosity = max(rule.Verbosity, request.Verbosity(r.newest.Annotations[request.AnnotationVerbosity]))
	return rule
}
