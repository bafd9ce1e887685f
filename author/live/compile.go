package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
)

// Add adds rules in files. Each replaces the installed rule of the same name.
func (r *Rules) Add(checked *manifests.Checked) {
	for i, decoded := range checked.Decoded {
		name := types.NamespacedName{Namespace: cmp.Or(decoded.Namespace, r.Namespace), Name: decoded.Name}
		rule := &Rule{
			Name: name, ID: mark.RuleID(r.Namespace, name.Namespace, name.Name), Decoded: decoded, State: Running,
			compiled: &compiled{program: checked.Programs[i]},
		}
		if checked.Programs[i].Suspend {
			rule.State = Suspended
		}
		r.All = append(slices.DeleteFunc(r.All, func(other *Rule) bool { return other.ID == rule.ID }), rule)
	}
}

// Compiler compiles rules against the kinds of a cluster, as Kanon does.
type Compiler struct {
	Kinds *manifests.Kinds
	// Namespace is Kanon's own.
	Namespace string
	// Limits are those of the programs.
	Limits program.Limits
}

// compiled is the result of compiling a rule.
type compiled struct {
	program  *program.Program
	findings diagnostic.Findings
}

// Compile compiles a rule, once. The program is nil if the findings have errors: then Kanon does not run that text
// either. It is also nil if the cluster has no text of the rule. The error reports that schemas cannot be read.
func (c *Compiler) Compile(ctx context.Context, rule *Rule) (*program.Program, diagnostic.Findings, error) {
	if rule.Decoded == nil {
		return nil, nil, nil
	}
	if rule.compiled == nil {
		made := &compiled{}
		if _, made.findings = decode(rule.Text); !made.findings.HasErrors() {
			options := rules.Options{Namespace: c.Namespace, Limits: c.Limits}
			if rule.Confined {
				options.Namespace, options.Confined = rule.Name.Namespace, true
			}
			var err error
			if made.program, made.findings, err = manifests.Compile(ctx, rule.Decoded, c.Kinds, options); err != nil {
				return nil, nil, err
			}
		}
		if made.findings.HasErrors() {
			made.program = nil
		}
		rule.compiled = made
	}
	return rule.compiled.program, rule.compiled.findings, nil
}

// mistakes are the errors among findings.
func mistakes(findings diagnostic.Findings) diagnostic.Findings {
	return slices.DeleteFunc(slices.Clone(findings), func(f diagnostic.Finding) bool { return f.Severity != diagnostic.SeverityError })
}

// Summary is what is known of a rule, for those who show its effects.
type Summary struct {
	// Name names the rule, with its namespace if that is not Kanon's, and ID identifies it in marks.
	Name, ID string
	// Program is nil if the rule cannot be compiled here: its text has mistakes, or only the running Kanon has it.
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

// Summary summarizes a rule. The error is that of Compile.
func (c *Compiler) Summary(ctx context.Context, rule *Rule) (Summary, error) {
	program, findings, err := c.Compile(ctx, rule)
	if err != nil {
		return Summary{}, err
	}
	out := Summary{
		Name: rule.Name.String(), ID: rule.ID, Program: program, Suspended: rule.State == Suspended, PruneHeld: rule.State == PruneHeld,
	}
	if rule.Name.Namespace == c.Namespace {
		out.Name = rule.Name.Name
	}
	if rule.Record != nil {
		for _, kind := range rule.Record.Children {
			out.Kinds = append(out.Kinds, kind.GVK())
		}
	}
	if rule.Object != nil || rule.Record != nil { // not one that the user gave
		out.Problems = rule.problems(out.Name, mistakes(findings))
	}
	return out, nil
}

// problems lists why an installed rule does not do what its text says.
func (rule *Rule) problems(name string, mistakes diagnostic.Findings) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	switch rule.State {
	case Running:
	case Suspended:
		say("is suspended: Kanon changes nothing for it")
	case PruneHeld:
		say("the prune guard blocks deletions; 'kanon confirm-prune %s' allows them", name)
	case DefinitionHeld:
		say("%s; 'kanon confirm-definition %s' shows what objects would lose", rule.Headline(), name)
	default:
		if rule.Decoded != nil {
			problems = append(problems, strings.Split(strings.TrimSpace(rule.Message), "\n")...)
		}
	}
	switch {
	case rule.Decoded == nil && rule.Origin.Path != "":
		say("is in the file %s, which only Kanon's process has; name a copy with -f to see what it renders and why", rule.Origin.Path)
	case rule.Decoded == nil:
		say("%s", rule.Headline())
	}
	for _, finding := range mistakes[:min(len(mistakes), maxMistakes)] {
		say("%s", finding)
	}
	if more := len(mistakes) - maxMistakes; more > 0 {
		say("has %d mistakes more", more)
	}
	if len(mistakes) > 0 {
		say("what follows is no more than which children exist: Kanon runs an earlier revision, or none")
	}
	return problems
}
