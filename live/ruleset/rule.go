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
	// ID is what marks call it.
	ID string
	// Decoded is nil if the cluster has no text of the rule: only Kanon's process has it, or nobody.
	Decoded *syntax.Rule

	set *Set
	// there is the rule in the cluster; nil for one of a file.
	there *installed.Rule
	// program and mistakes are what it came to, once isCompiled is true.
	program    *program.Program
	mistakes   diagnostic.Findings
	isCompiled bool
}

// Title is what people call the rule: in another namespace than Kanon's, with that.
func (r *Rule) Title() string {
	if r.Name.Namespace == r.set.options.Namespace {
		return r.Name.Name
	}
	return r.Name.String()
}

// Source is where a rule of a cluster is: configmap/NAME, rule/NAME or the path of a file. It is empty for a rule of a file that was
// given.
func (r *Rule) Source() string {
	if r.there == nil {
		return ""
	}
	return r.there.Source()
}

// isRemoved reports whether Kanon cleans up after the rule, which has no text any more.
func (r *Rule) isRemoved() bool { return r.there != nil && r.there.State == installed.Removing }

func (r *Rule) parentKind() schema.GroupKind {
	if r.there != nil {
		return r.there.ParentKind().GroupKind()
	}
	return r.Decoded.ParentKind().GroupKind()
}

// Program is the compiled rule. It is nil with mistakes, for which Kanon does not run the text of the rule, and without a text. The error
// says that the schemas cannot be read.
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
	if r.there.Text.Object {
		decode = syntax.DecodeObject
	}
	_, findings := decode(r.there.Text.Name, r.there.Text.Data)
	if !findings.HasErrors() {
		o := r.set.options
		if compiled, findings, err = r.there.Compile(ctx, o.Kinds, o.Namespace, o.Limits); err != nil {
			return nil, nil, err
		}
	}
	findings = slices.DeleteFunc(slices.Clone(findings), func(f diagnostic.Finding) bool { return f.Severity != diagnostic.SeverityError })
	if len(findings) > 0 {
		compiled = nil
	}
	return compiled, findings, nil
}

// Summary is what is known of a rule, for who shows what it makes.
type Summary struct {
	// Name is its title, and ID what marks call it.
	Name, ID string
	// Program is nil if it is not known what the rule is.
	Program *program.Program
	// Kinds are those of the children that Kanon has recorded.
	Kinds []schema.GroupVersionKind
	// Problems say what is the matter with the rule, whatever the parent.
	Problems []string
	// Suspended rules change nothing. Held says that the prune guard blocks what the rule would delete.
	Suspended, Held bool
}

// maxMistakes is how many mistakes of a rule are shown.
const maxMistakes = 3

// Summary is what is known of the rule. The error is that of Program.
func (r *Rule) Summary(ctx context.Context) (Summary, error) {
	compiled, mistakes, err := r.Program(ctx)
	if err != nil {
		return Summary{}, err
	}
	out := Summary{Name: r.Title(), ID: r.ID, Program: compiled}
	if r.there == nil {
		out.Suspended = compiled.Suspend
		return out, nil
	}
	out.Suspended, out.Held = r.there.State == installed.Suspended, r.there.State == installed.PruneHeld
	if r.there.Record != nil {
		for _, kind := range r.there.Record.Children {
			out.Kinds = append(out.Kinds, kind.GVK())
		}
	}
	out.Problems = r.problems(mistakes)
	return out, nil
}

// problems say why the rule of a cluster does not do what its text says.
func (r *Rule) problems(mistakes diagnostic.Findings) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	switch r.there.State {
	case installed.Running:
	case installed.Suspended:
		say("is suspended: Kanon changes nothing for it")
	case installed.PruneHeld:
		say("the prune guard blocks deletions; 'kanon confirm-prune %s' allows them", r.Title())
	case installed.DefinitionHeld:
		say("%s; 'kanon confirm-definition %s' shows what objects would lose", r.there.Headline(), r.Title())
	default:
		if r.Decoded != nil {
			problems = append(problems, strings.Split(strings.TrimSpace(r.there.Message), "\n")...)
		}
	}
	switch {
	case r.Decoded == nil && r.there.Origin.Path != "":
		say("is in the file %s, which only Kanon's process has; name a copy with -f to see what it renders and why", r.there.Origin.Path)
	case r.Decoded == nil:
		say("%s", r.there.Headline())
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
