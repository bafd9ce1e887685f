package authoring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/kinds/definitions"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/offline/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
)

// errRender ends a command whose output has already shown what failed.
var errRender = errors.New("the rule fails for this parent")

// renderOptions are the flags of kanon render.
type renderOptions struct {
	files   rulefiles.Filenames
	with    []string
	schemas []string
	now     string
	// namespace is Kanon's own namespace.
	namespace string
	limits    template.Limits
}

func newRenderCommand() *cobra.Command {
	var o renderOptions
	cmd := &cobra.Command{
		Use:   "render RULE PARENT",
		Short: "Show what a rule renders for a parent, without a cluster",
		Long: `Show the children and the status that kanon run would apply for a parent, as
YAML, with what is skipped, what waits and why as comments.

RULE is a file with rules, PARENT one with the objects that they are for; - is
standard input for one of them. No cluster is asked: what the rule looks up,
children as they are, and the parent's Namespace are taken from --with. An object
there is a child of the parent if its mark, kanon.dev/applied, says so, or if the
parent is its controller by metadata.ownerReferences, as kubectl get prints both. Any
other object that has the name of a child stays unchanged, and the child fails. What is
not given does not exist. The parent and the objects of --with get the defaults of their
CustomResourceDefinition, if it is made of the rule's schema, beside the rule or in
--schemas. The parent gets a uid, a resourceVersion, a generation and a
creationTimestamp if it has none, and can be in another version of its kind. The parent,
its status and the children are checked as the API server does: their names, and of kinds
whose definition is known, their fields.

Left out are the labels and annotations by which Kanon knows its children, its own
conditions, and the values of Secrets.

The exit code is 0 also where something waits, 1 when the rule has errors, fails
for the parent or is not for its kind, or when the API server would refuse the parent
or a child, and 2 when the command is called wrongly.`,
		Example: `  # The children of a parent that is written down, and what would wait
  kanon render rule.yaml parent.yaml --schemas crds/

  # The same for one in a cluster, with a ConfigMap that the rule looks up
  kubectl get webapp storefront -o yaml | kanon render rule.yaml - --schemas crds/ --with settings.yaml

  # As it will be on another day
  kanon render rule.yaml parent.yaml --schemas crds/ --now 2030-01-01T00:00:00Z`,
		Args: func(cmd *cobra.Command, args []string) error {
			wanted := 2
			if o.files.Given() {
				wanted = 1
			}
			if len(args) != wanted {
				return exit.Usagef(cmd, "name a file with a rule and a file with a parent")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ruleFiles, parents, err := o.files.Split(cmd, args)
			if err != nil {
				return err
			}
			return o.render(cmd, ruleFiles, parents)
		},
	}
	flags := cmd.Flags()
	o.files.Add(cmd, "rules, in place of RULE")
	flags.StringArrayVar(&o.with, "with", nil, "directory or file with objects that the cluster has; repeatable")
	flags.StringArrayVar(&o.schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
	rulefiles.AddKanonNamespace(flags, &o.namespace, "by which marks name their rule")
	flags.StringVar(&o.now, "now", "", "the time that the rule sees, in RFC 3339; default: the time it is")
	rulefiles.AddLimits(flags, &o.limits)
	commandline.CompleteFlag(cmd, "kanon-namespace", func() []cobra.Completion { return nil })
	return cmd
}

func (o *renderOptions) render(cmd *cobra.Command, ruleFiles, parentFiles []string) error {
	if err := rulefiles.CheckLimits(o.limits); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	now, err := timeOf(o.now)
	if err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	read := func(args ...string) []manifests.File {
		inputs, readErr := manifests.Read(args, cmd.InOrStdin())
		err = errors.Join(err, readErr)
		return inputs
	}
	ruleTexts, parentTexts, withTexts := read(ruleFiles...), read(parentFiles...), read(o.with...)
	schemaTexts, schemasErr := manifests.SchemasFor(ruleFiles, o.schemas, cmd.InOrStdin())
	err = errors.Join(err, schemasErr)
	if err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	parents, err1 := manifests.DistinctObjects(parentTexts)
	with, err2 := manifests.DistinctObjects(withTexts)
	if err := errors.Join(err1, err2); err != nil {
		return rulefiles.AsGiven(cmd, err)
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		return err
	}
	check, err := manifests.Check(cmd.Context(), ruleTexts, schemaTexts, kinds, rules.Options{Namespace: o.namespace, Limits: o.limits})
	if err != nil {
		return err
	}
	if err := (diagnostic.Printer{Color: terminal.HasColors(cmd.ErrOrStderr())}).Print(cmd.ErrOrStderr(), check.Findings); err != nil {
		return err
	}
	switch {
	case check.Findings.HasErrors():
		return exit.ErrFindings
	case len(check.Programs) == 0:
		return rulefiles.NoRules(strings.Join(ruleFiles, ", "), ruleTexts)
	}
	known, err := definitions.NewKinds(check.CRDs)
	if err != nil {
		return err
	}
	kinds.InDefaultNamespace(check.Programs, slices.Concat(parents, with))
	refused := serve(cmd.Context(), known, check.Programs, parents, with)
	previews, err := previewAll(cmd.Context(), check.Programs, parents, preview.Input{
		With: with, Now: now, Namespace: o.namespace, Schema: kinds.Schema, HasStatus: kinds.HasStatus,
		Check: func(object, old *unstructured.Unstructured) error {
			return known.CheckObject(cmd.Context(), object, old)
		},
		CheckStatus: func(object, old *unstructured.Unstructured) error {
			return known.CheckStatus(cmd.Context(), object, old)
		},
	})
	if err != nil {
		return err
	}
	err = writePreviews(cmd.OutOrStdout(), previews)
	for _, parent := range parents {
		if refused[parent] != nil {
			return refused[parent]
		}
	}
	return err
}

// serve sets the defaults of objects, and converts parents to the versions that rules read. It returns for each parent
// why the API server would refuse it.
func serve(ctx context.Context, known definitions.Kinds, programs []*program.Program, parents, with []*unstructured.Unstructured) map[*unstructured.Unstructured]error {
	for _, object := range with {
		known.Fill(object)
	}
	refused := map[*unstructured.Unstructured]error{}
	for _, parent := range parents {
		known.Fill(parent)
		i := slices.IndexFunc(programs, func(p *program.Program) bool {
			return p.Parent.GVK.GroupKind() == parent.GroupVersionKind().GroupKind()
		})
		if i < 0 {
			continue // no rule is for its kind
		}
		refused[parent] = known.CheckObject(ctx, parent, nil)
		known.Serve(parent, programs[i].Parent.GVK)
	}
	return refused
}

// timeOf is the value of a flag --now.
func timeOf(flag string) (time.Time, error) {
	if flag == "" {
		return time.Now(), nil
	}
	now, err := time.Parse(time.RFC3339, flag)
	if err != nil {
		return time.Time{}, fmt.Errorf("--now %q is no time such as 2030-01-01T00:00:00Z", flag)
	}
	return now, nil
}

// previewAll evaluates each rule for each parent of its kind. in has the other inputs. Objects of other kinds are
// skipped.
func previewAll(ctx context.Context, programs []*program.Program, parents []*unstructured.Unstructured, in preview.Input) ([]*preview.Preview, error) {
	var previews []*preview.Preview
	for _, parent := range parents {
		for _, program := range programs {
			spec := program.Parent
			if parent.GroupVersionKind() != spec.GVK {
				continue
			}
			in.Program, in.Parent = program, parent
			previews = append(previews, preview.Evaluate(ctx, in))
		}
	}
	if len(previews) > 0 {
		return previews, nil
	}
	var wanted []string
	for _, program := range programs {
		gvk := program.Parent.GVK
		wanted = append(wanted, fmt.Sprintf("%s in %s", gvk.Kind, gvk.GroupVersion()))
	}
	slices.Sort(wanted)
	return nil, fmt.Errorf("there is no parent for the rule: name a file with an object of kind %s", strings.Join(slices.Compact(wanted), " or "))
}

func writePreviews(out io.Writer, previews []*preview.Preview) error {
	var failed error
	for i, p := range previews {
		if i > 0 {
			if _, err := fmt.Fprintln(out, "---"); err != nil {
				return fmt.Errorf("write the preview: %w", err)
			}
		}
		if err := p.Write(out); err != nil {
			return err
		}
		if p.Failed() {
			failed = errRender
		}
	}
	return failed
}
