package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

// crdOptions are the flags of kanon crd.
type crdOptions struct {
	rules  cli.RuleFlags
	output string
}

func newCRDCommand() *cobra.Command {
	o := crdOptions{output: string(live.FormatYAML)}
	cmd := &cobra.Command{
		Use:   "crd FILE|DIR|-...",
		Short: "Print the CustomResourceDefinitions that rules make",
		Args:  o.rules.Need,
		RunE:  o.rules.Run(o.print),
	}
	o.rules.Add(cmd)
	cli.Choice{Name: "output", Short: "o", Usage: "form of the output: yaml or json", Values: []string{"yaml", "json"}}.Add(cmd, &o.output)
	return cmd
}

func (o *crdOptions) print(cmd *cobra.Command, args []string) error {
	checked, _, err := o.rules.Read(cmd, args)
	if err != nil {
		return err
	}
	var made []*unstructured.Unstructured
	printer := live.Printer{Out: cmd.OutOrStdout(), Format: live.ListFormat(o.output)}
	list := live.List{}
	for _, rule := range checked.Decoded {
		crd := rule.Parent.Definition
		if crd != nil && !slices.ContainsFunc(made, func(other *unstructured.Unstructured) bool { return reflect.DeepEqual(other, crd) }) {
			made = append(made, crd)
			list.Add(crd.GetName(), crd.Object)
		}
	}
	if len(made) == 0 {
		return fmt.Errorf("no rule in %s has spec.parent.schema, of which a definition is made; 'kanon init' makes a rule that has one", strings.Join(args, ", "))
	}
	list.Single = len(made) == 1 || printer.Format == live.FormatYAML
	return printer.Print(list)
}
