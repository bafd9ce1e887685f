package main

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

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
)

// errRender ends a command whose output has already shown what failed.
var errRender = errors.New("the rule fails for this parent")

// renderOptions are the flags of kanon render.
type renderOptions struct {
	rules cli.RuleFlags
	with  []string
	now   string
}

func newRenderCommand() *cobra.Command {
	var o renderOptions
	cmd := &cobra.Command{
		Use:   "render RULE PARENT",
		Short: "Show what a rule renders for a parent, without a cluster",
		Args: func(cmd *cobra.Command, args []string) error {
			wanted := 2
			if o.rules.Given() {
				wanted = 1
			}
			if len(args) != wanted {
				return cli.Usagef(cmd, "name a file with a rule and a file with a parent")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ruleFiles, parents, err := o.rules.Split(cmd, args)
			if err != nil {
				return err
			}
			return o.render(cmd, ruleFiles, parents)
		},
	}
	flags := cmd.Flags()
	o.rules.Add(cmd)
	flags.StringArrayVar(&o.with, "with", nil, "directory or file with objects that the cluster has; repeatable")
	flags.StringVar(&o.now, "now", "", "the time that the rule sees, in RFC 3339; default: the time it is")
	return cmd
}

func (o *renderOptions) render(cmd *cobra.Command, ruleFiles, parentFiles []string) error {
	now, err := timeOf(o.now)
	if err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	check, kinds, err := o.rules.Read(cmd, ruleFiles)
	if err != nil {
		return err
	}
	parents, err1 := cli.ReadObjects(cmd, parentFiles)
	with, err2 := cli.ReadObjects(cmd, o.with)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if err := (diagnostic.Printer{Color: cli.HasColors(cmd.ErrOrStderr())}).Print(cmd.ErrOrStderr(), check.Findings); err != nil {
		return err
	}
	known, err := definitions.NewKinds(check.CRDs)
	if err != nil {
		return err
	}
	kinds.InDefaultNamespace(check.Programs, slices.Concat(parents, with))
	refused := serve(cmd.Context(), known, check.Programs, parents)
	previews, err := previewAll(cmd.Context(), check.Programs, parents, preview.Input{
		With: with, Now: now, Namespace: o.rules.Namespace, Definitions: check.CRDs,
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

// serve sets the defaults of parents, and converts them to the versions that rules read. It returns for each parent why
// the API server would refuse it.
func serve(
	ctx context.Context, known definitions.Kinds, programs []*program.Program, parents []*unstructured.Unstructured,
) map[*unstructured.Unstructured]error {
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
			made, err := preview.Evaluate(ctx, in)
			if err != nil {
				return nil, err
			}
			previews = append(previews, made)
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
