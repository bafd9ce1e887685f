package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/rules/syntax"
)

// whyOptions are the flags of kanon why.
type whyOptions struct {
	files  cli.Filenames
	output string
	live   cli.LiveFlags
}

func newWhyCommand() *cobra.Command {
	o := whyOptions{output: "text"}
	cmd := &cobra.Command{
		Use:   "why KIND NAME [FIELD]",
		Short: "Show which line of a rule gave a field of an object its value",
		Args: func(cmd *cobra.Command, args []string) error {
			_, rest, err := cli.ParseObject(cmd, args)
			switch {
			case err != nil:
				return err
			case len(rest) > 1:
				return cli.Usagef(cmd, "unexpected argument %q: a field is one path, such as spec.replicas", rest[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.why(cmd, args) },
	}
	o.live.AddNamespace(cmd, "object")
	o.files.Add(cmd, "rules, in the place of installed ones of the same name")
	formats := []string{"text", "json", "yaml"}
	cli.Choice{Name: "output", Short: "o", Usage: strings.Join(formats, ", "), Values: formats}.Add(cmd, &o.output)
	o.live.AddCluster(cmd)
	cli.AddLimits(cmd.Flags(), &o.live.Limits)
	cmd.ValidArgsFunction = o.complete
	return cmd
}

// complete completes KIND and NAME, and then the fields of the object.
func (o *whyOptions) complete(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
	arg, rest, err := cli.ParseObject(cmd, args)
	if err != nil {
		return o.live.CompleteObject(cmd, args, begin)
	}
	there, err := o.live.ForCompletion()
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	object, err := there.Read(cmd.Context(), arg)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp // the command will report the error
	}
	return explain.Explain(object, nil).Paths(), cobra.ShellCompDirectiveNoFileComp
}

func (o *whyOptions) why(cmd *cobra.Command, args []string) error {
	object, rest, err := cli.ParseObject(cmd, args)
	if err != nil {
		return err
	}
	var field syntax.IgnorePath
	if len(rest) == 1 {
		if field, err = parseField(cmd, rest[0]); err != nil {
			return err
		}
	}
	there, err := o.live.Open(cmd)
	if err != nil {
		return err
	}
	done := cli.SayIfSlow(cmd.ErrOrStderr(), "Asking "+there.Config.Host+"…")
	explanation, err := o.explain(cmd, there, object)
	done()
	if err != nil {
		return err
	}
	if field != nil {
		part, ok := explanation.Below(field)
		if !ok {
			return fmt.Errorf("%[1]s %[2]s has no field %[3]s, and no rule renders one; 'kanon why %[1]s %[2]s' lists its fields", explanation.Object.Kind, explanation.Object.Name, field)
		}
		explanation = part
	}
	return o.write(cmd, explanation, field != nil)
}

// position is the position of an item, as kubectl and JSONPath write it.
var position = regexp.MustCompile(`\[(\d+)\]`)

// parseField parses a path in the syntax of rules, or with the positions of items and a dot or braces around it as in JSONPath:
// spec.containers[name=web].image, spec.containers.0.image, {.spec.containers[0].image}.
func parseField(cmd *cobra.Command, text string) (syntax.IgnorePath, error) {
	if text == "" {
		return nil, cli.Usagef(cmd, "the field is empty: write a path, such as spec.replicas")
	}
	path := text
	if !strings.Contains(path, `"`) {
		path = strings.TrimPrefix(strings.Trim(position.ReplaceAllString(path, ".$1"), "{}"), ".")
	}
	parsed, wrong := syntax.ParseIgnore(path)
	switch {
	case wrong != nil && wrong.Hint != "":
		return nil, cli.Usagef(cmd, "field %q: %s (%s)", text, wrong.Message, wrong.Hint)
	case wrong != nil:
		return nil, cli.Usagef(cmd, "field %q: %s", text, wrong.Message)
	}
	return parsed.Steps, nil
}

// explain explains an object of the cluster.
func (o *whyOptions) explain(cmd *cobra.Command, there *cli.Live, arg cli.ObjectArg) (*explain.Explanation, error) {
	ctx := cmd.Context()
	inFiles, err := o.files.Check(cmd, there)
	if err != nil {
		return nil, err
	}
	object, err := there.Read(ctx, arg)
	if err != nil {
		return nil, err
	}
	reader, compiler, err := there.Reader(ctx)
	if err != nil {
		return nil, err
	}
	known, err := live.ListRules(ctx, there.Client, o.live.KanonNamespace)
	if apierrors.IsForbidden(err) && o.files.Given() { // the right to read rules is not needed
		known, err = &live.Rules{Namespace: o.live.KanonNamespace}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the rules in namespace %s (or give them with -f): %w", o.live.KanonNamespace, err)
	}
	known.Add(inFiles)
	return (&live.Inquirer{Reader: reader, Compiler: compiler, Rules: known, Now: time.Now()}).Explain(ctx, object)
}

func (o *whyOptions) write(cmd *cobra.Command, e *explain.Explanation, detail bool) error {
	out := cmd.OutOrStdout()
	if o.output == "json" || o.output == "yaml" {
		return explain.WriteAs(out, o.output, e)
	}
	return explain.ExplanationPrinter{Now: time.Now(), Color: cli.HasColors(out)}.Print(out, e, detail)
}
