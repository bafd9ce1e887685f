package authoring

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program/template"
)

// crdOptions are the flags of kanon crd.
type crdOptions struct {
	files     rulefiles.Filenames
	schemas   []string
	namespace string
	output    string
	limits    template.Limits
}

// crdFormats are the values of --output.
func crdFormats() []string { return []string{"yaml", "json"} }

func newCRDCommand() *cobra.Command {
	var o crdOptions
	cmd := &cobra.Command{
		Use:   "crd FILE|DIR|-...",
		Short: "Print the CustomResourceDefinitions that rules make",
		Long: `Print the CustomResourceDefinitions that Kanon makes of spec.parent.schema, which is
where a rule writes the fields of its parent's kind in a short form. The types of the
status come from the expressions of the rule.

kanon run applies these definitions itself if it may. If it may not, an admin applies
what this command prints.

The rules are checked first, as kanon validate does. The exit code is 0, 1 with errors in
the rules or if none of them has a schema, and 2 when the command is called wrongly.`,
		Example: `  # Install the kinds of the rules in a directory
  kanon crd rules/ | kubectl apply -f -

  # What the installed definition has other than the rule
  kanon crd rule.yaml | kubectl diff -f -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !o.files.Given() {
				return exit.Usagef(cmd, "name a file or a directory with rules, or - for standard input")
			}
			return nil
		},
		RunE: o.files.Run(o.print),
	}
	flags := cmd.Flags()
	o.files.Add(cmd, "rules")
	flags.StringArrayVar(&o.schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
	flags.StringVarP(&o.output, "output", "o", "yaml", "form of the output: yaml or json")
	rulefiles.AddKanonNamespace(flags, &o.namespace, "in which rules belong")
	rulefiles.AddLimits(flags, &o.limits)
	commandline.CompleteFlag(cmd, "kanon-namespace", func() []cobra.Completion { return nil })
	commandline.CompleteFlag(cmd, "output", func() []cobra.Completion { return crdFormats() })
	return cmd
}

func (o *crdOptions) print(cmd *cobra.Command, args []string) error {
	if err := rulefiles.CheckLimits(o.limits); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	if !slices.Contains(crdFormats(), o.output) {
		return exit.Usagef(cmd, "--output must be yaml or json, not %q", o.output)
	}
	checked, _, err := rulefiles.Read(cmd, args, o.schemas, rules.Options{Namespace: o.namespace, Limits: o.limits})
	if err != nil {
		return err
	}
	var made []*unstructured.Unstructured
	for _, rule := range checked.Decoded {
		crd := rule.Parent.Definition
		if crd != nil && !slices.ContainsFunc(made, func(other *unstructured.Unstructured) bool { return reflect.DeepEqual(other, crd) }) {
			made = append(made, crd)
		}
	}
	if len(made) == 0 {
		return fmt.Errorf("no rule in %s has spec.parent.schema, of which a definition is made; 'kanon init' makes a rule that has one", strings.Join(args, ", "))
	}
	return printObjects(cmd.OutOrStdout(), made, o.output)
}

// printObjects writes objects like kubectl get, in a form that kubectl apply -f accepts.
func printObjects(out io.Writer, objects []*unstructured.Unstructured, format string) error {
	var text strings.Builder
	if format == "json" {
		var whole any = objects[0].Object
		if len(objects) > 1 {
			items := make([]any, len(objects))
			for i, object := range objects {
				items[i] = object.Object
			}
			whole = map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
		}
		data, err := json.MarshalIndent(whole, "", "  ")
		if err != nil {
			return fmt.Errorf("encode the definitions: %w", err)
		}
		text.Write(data)
		text.WriteString("\n")
	} else {
		for i, object := range objects {
			data, err := yaml.Marshal(object.Object)
			if err != nil {
				return fmt.Errorf("encode %s: %w", object.GetName(), err)
			}
			if i > 0 {
				text.WriteString("---\n")
			}
			text.Write(data)
		}
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("print the definitions: %w", err)
	}
	return nil
}
