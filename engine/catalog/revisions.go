package catalog

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Rule is a rule after an update.
type Rule struct {
	Summary

	// Origin has the text of the newest revision; zero if no source has that text any more.
	Origin source.Origin
	// Program is the last good revision. It is nil if the rule must not run: no revision has compiled, the cluster
	// lacks the kind of the parents, the scope of a kind has changed, or the rule is suspended.
	Program *program.Program
	// Newest is the newest revision that could be decoded.
	Newest *syntax.Rule
	// Confirmed are the revisions whose deletions are confirmed: in the document, on its origin, or on the record of
	// a rule in a file.
	Confirmed []string
	// Verbosity is how much is logged about the rule, as set in the document, on its origin or on its record.
	Verbosity int
	// isGood is true if Newest is the last good revision.
	isGood bool
}

// OnRuleDeletion returns what happens to the children if the rule is removed while it does not run. before is the
// policy so far. A newest revision that does not compile can only change it to keeping the children.
func (r *Rule) OnRuleDeletion(before syntax.RuleDeletion) syntax.RuleDeletion {
	newest := r.Newest.OnRuleDeletion
	if r.isGood || newest == before {
		return newest
	}
	return syntax.OrphanChildren
}

// revisions are the relevant revisions of one rule.
type revisions struct {
	id   string
	name types.NamespacedName
	// text is the name of the text with the newest revision.
	text string
	// newest is the newest revision that could be decoded. compiled is the one that was compiled last, with these
	// findings: newest, or an earlier one while newest waits.
	newest, compiled *syntax.Rule
	findings         diagnostic.Findings
	// good is the newest revision that compiled, and program its result; nil until one has.
	good    *syntax.Rule
	program *program.Program
	// unfit is true if program cannot be right for the kinds as they are, because the scope of one has changed.
	unfit bool
	// origin is where the text of good was when it was compiled.
	origin source.Origin
	// due and goodDue are true while newest, and good if it differs, have to be compiled. waits describes what newest
	// waits for.
	due, goodDue bool
	waits        string
	// reportedMissing is the revision whose missing kinds were reported.
	reportedMissing *syntax.Rule
}

// lacksKinds reports whether missing kinds are the only errors of the newest revision.
func (r *revisions) lacksKinds() bool {
	return r.compiled == r.newest && r.findings.HasErrors() && !slices.ContainsFunc(r.findings, func(f diagnostic.Finding) bool {
		return f.Severity == diagnostic.SeverityError && f.Missing == nil
	})
}

// kinds returns the kinds that the newest revision and the last good one name.
func (r *revisions) kinds() []schema.GroupVersionKind {
	kinds := r.newest.Kinds()
	if r.good != nil && r.good != r.newest {
		kinds = append(kinds, r.good.Kinds()...)
	}
	return kinds
}

// recompile compiles what is due of a rule, and what uses a kind that changed. A revision with errors is compiled
// again after every change, because a finding may suggest any kind.
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

// recompileGood compiles the last good revision again if it is due. If it no longer compiles, the program stays as it
// is.
func (c *Catalog) recompileGood(r *revisions) {
	switch {
	case !r.goodDue:
	case r.program == nil || r.good == r.newest:
		r.goodDue = false
	case c.waitsFor("", nil, r.good.Kinds()) == "":
		r.goodDue = false
		program, findings := rules.Compile(r.good, c.optionsFor(r))
		if program != nil {
			r.program = program
		}
		r.unfit = program == nil && concernScope(findings)
	}
}

// compileNewest compiles the newest revision. If that succeeds, it becomes the last good one. A text of which only
// comments or irrelevant annotations changed has the same revision. Then the running program stays, unless the text
// moved to another origin: recompileGood keeps it current with its kinds, and only the lines of the findings are new.
func (c *Catalog) compileNewest(r *revisions) {
	program, findings := rules.Compile(r.newest, c.optionsFor(r))
	r.compiled, r.findings = r.newest, findings
	if program == nil {
		r.unfit = r.good == r.newest && concernScope(findings) || r.good != r.newest && r.unfit
		return
	}
	r.unfit = false
	var origin source.Origin
	if t := c.texts[r.text]; t != nil {
		origin = t.origin
	}
	if r.good == nil || r.good == r.newest || r.good.Hash() != r.newest.Hash() || r.origin != origin {
		r.program = program
	}
	r.good, r.origin = r.newest, origin
}

// concernScope reports whether findings say that objects of a kind need a namespace, or cannot have one.
func concernScope(findings diagnostic.Findings) bool {
	return slices.ContainsFunc(findings, func(f diagnostic.Finding) bool {
		return f.Code == diagnostic.CodeNamespaceRequired || f.Code == diagnostic.CodeNamespaceForbid || f.Code == diagnostic.CodeParentNamespaces
	})
}

// runnable returns the program to run, or nil: see Rule.Program.
func (c *Catalog) runnable(r *revisions) *program.Program {
	if r.program == nil || r.unfit || c.isSuspended(r) || c.lacksParentKind(r) {
		return nil
	}
	return r.program
}

// isSuspended reports whether the last good revision is suspended, or an annotation of the record suspends the rule.
func (c *Catalog) isSuspended(r *revisions) bool {
	return r.good.Suspend || c.annotationsOf(r).Suspended
}

// annotationsOf returns the annotations that people set about a rule: on the object that has its text, or on the
// record of a rule in a file. No seal proves them: whoever may write in Kanon's namespace may write rules there
// anyway.
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

// lacksParentKind reports whether the cluster lacks the parents' kind of the last good revision.
func (c *Catalog) lacksParentKind(r *revisions) bool {
	_, ok := c.compiling.Kinds.Lookup(r.program.Parent.GVK)
	return !ok
}

// rule returns what Rules reports about a rule.
func (c *Catalog) rule(r *revisions) Rule {
	rule := Rule{Summary: r.summary(), Program: c.runnable(r), Newest: r.newest, isGood: r.newest == r.good}
	if t := c.texts[r.text]; t != nil {
		rule.Origin = t.origin
	}
	annotations := c.annotationsOf(r)
	rule.Confirmed, rule.Verbosity = syntax.ConfirmedRevisions(annotations.ConfirmPrune), conditions.Verbosity(annotations.Verbosity)
	if r.good != nil {
		rule.Confirmed = slices.Concat(rule.Confirmed, r.good.Confirmed())
	}
	rule.Verbosity = max(rule.Verbosity, conditions.Verbosity(r.newest.Annotations[conditions.AnnotationVerbosity]))
	return rule
}
