package ruleset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Rule is a rule of a cluster, or of a file.
type Rule struct {
	Name types.NamespacedName
	// ID identifies the rule in marks.
	ID string
	// Decoded is nil if the cluster has no text of the rule: it is in a file of Kanon's, or gone.
	Decoded *syntax.Rule

	set *Set
	// inCluster is the installed rule; nil for one in a file.
	inCluster *installed.Rule
	// program and mistakes are valid once isCompiled is true.
	program    *program.Program
	mistakes   diagnostic.Findings
	isCompiled bool
}

// Title names the rule, with its namespace if that is not Kanon's.
func (r *Rule) Title() string {
	if r.Name.Namespace == r.set.options.Namespace {
		return r.Name.Name
	}
	return r.Name.String()
}

// Source names the origin of an installed rule: configmap/NAME, rule/NAME or the path of a file. It is empty for a rule
// in a file.
func (r *Rule) Source() string {
	if r.inCluster == nil {
		return ""
	}
	return r.inCluster.Source()
}

// isRemoved reports whether the rule's text is gone and Kanon cleans up after it.
func (r *Rule) isRemoved() bool { return r.inCluster != nil && r.inCluster.State == installed.Removing }

func (r *Rule) parentKind() schema.GroupKind {
	if r.inCluster != nil {
		return r.inCluster.ParentKind().GroupKind()
	}
	return r.Decoded.ParentKind().GroupKind()
}

// Program compiles the rule. It is nil if the rule has no text, or if the text has mistakes: then Kanon does not run
// that text either. The error reports that schemas cannot be read.
func (r *Rule) Program(ctx context.Context) (compiled *program.Program, mistakes diagnostic.Findings, err error) {
	if !r.isCompiled && r.Decoded != nil {
		if r.program, r.mistakes, err = r.compile(ctx); err != nil {
			return nil, nil, err
		}
		r.isCompiled = true
	}
	return r.program, r.mistakes, nil
}

func (r *Rule) compile(ctx context.Context) (compiled *program.Program, mistakes diagnostic.Findings, err error) {
	decode := syntax.Decode
	if r.inCluster.Text.Object {
		decode = syntax.DecodeObject
	}
	_, findings := decode(r.inCluster.Text.Name, r.inCluster.Text.Data)
	if !findings.HasErrors() {
		o := r.set.options
		if compiled, findings, err = r.inCluster.Compile(ctx, o.Kinds, o.Namespace, o.Limits); err != nil {
			return nil, nil, err
		}
	}
	findings = slices.DeleteFunc(slices.Clone(findings), func(f diagnostic.Finding) bool { return f.Severity != diagnostic.SeverityError })
	if len(findings) > 0 {
		compiled = nil
	}
	return compiled, findings, nil
}

// Summary is what is known of a rule, for those who show its effects.
type Summary struct {
	// Name is the title, and ID identifies the rule in marks.
	Name, ID string
	// Program is nil if the rule cannot be compiled here.
	Program *program.Program
	// Kinds are the recorded kinds of its children.
	Kinds []schema.GroupVersionKind
	// Problems are those of the rule itself, for whatever parent.
	Problems []string
	// Suspended rules change nothing. PruneHeld is true if the prune guard blocks the rule's deletions.
	Suspended, PruneHeld bool
}

// maxMistakes is how many mistakes of a rule are shown.
const maxMistakes = 3

// Summary summarizes the rule. The error is that of Program.
func (r *Rule) Summary(ctx context.Context) (Summary, error) {
	compiled, mistakes, err := r.Program(ctx)
	if err != nil {
		return Summary{}, err
	}
	out := Summary{Name: r.Title(), ID: r.ID, Program: compiled}
	if r.inCluster == nil {
		out.Suspended = compiled.Suspend
		return out, nil
	}
	out.Suspended, out.PruneHeld = r.inCluster.State == installed.Suspended, r.inCluster.State == installed.PruneHeld
	if r.inCluster.Record != nil {
		for _, kind := range r.inCluster.Record.Children {
			out.Kinds = append(out.Kinds, kind.GVK())
		}
	}
	out.Problems = r.problems(mistakes)
	return out, nil
}

// problems lists why an installed rule does not do what its text says.
func (r *Rule) problems(mistakes diagnostic.Findings) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	switch r.inCluster.State {
	case installed.Running:
	case installed.Suspended:
		say("is suspended: Kanon changes nothing for it")
	case installed.PruneHeld:
		say("the prune guard blocks deletions; 'kanon confirm-prune %s' allows them", r.Title())
	case installed.DefinitionHeld:
		say("%s; 'kanon confirm-definition %s' shows what objects would lose", r.inCluster.Headline(), r.Title())
	default:
		if r.Decoded != nil {
			problems = append(problems, strings.Split(strings.TrimSpace(r.inCluster.Message), "\n")...)
		}
	}
	switch {
	case r.Decoded == nil && r.inCluster.Origin.Path != "":
		say("is in the file %s, which only Kanon's process has; name a copy with -f to see what it renders and why", r.inCluster.Origin.Path)
	case r.Decoded == nil:
		say("%s", r.inCluster.Headline())
	}
	for i, finding := range mistakes {
		if i == maxMistakes {
			say("has %d mistakes more", len(mistakes)-i)
			break
		}
		say("%s", finding)
	}
	if len(mistakes) > 0 {
		say("what follows is no more than which children exist: Kanon runs an earlier revision, or none")
	}
	return problems
}
