package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// ReadRules reads and checks the rules in files without a cluster. Findings with errors have been printed when it returns.
func ReadRules(cmd *cobra.Command, args, schemas []string, o rules.Options) (*manifests.Checked, *manifests.Kinds, error) {
	files, err1 := manifests.Read(args, cmd.InOrStdin())
	definitions, err2 := manifests.SchemasFor(args, schemas, cmd.InOrStdin())
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, Usagef(cmd, "%w", err)
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		return nil, nil, err
	}
	checked, err := CheckRules(cmd, strings.Join(args, ", "), files, definitions, kinds, o)
	return checked, kinds, err
}

// AsGiven makes an error about duplicate objects in files a usage error.
func AsGiven(cmd *cobra.Command, err error) error {
	if twice := new(manifests.TwiceError); errors.As(err, &twice) {
		return Usagef(cmd, "%w", err)
	}
	return err
}

// CheckRules compiles the rules in files. where names the files in messages. It returns an error if there are no rules, or
// if they have errors, after printing the findings.
func CheckRules(cmd *cobra.Command, where string, files, schemas []manifests.File, kinds *manifests.Kinds, o rules.Options) (*manifests.Checked, error) {
	checked, err := manifests.Check(cmd.Context(), files, schemas, kinds, o)
	switch {
	case err != nil:
		return nil, err
	case checked.Findings.HasErrors():
		return nil, RefusedRules(cmd, checked.Findings)
	case len(checked.Programs) == 0:
		return nil, NoRules(where, files)
	}
	return checked, nil
}

// ofKro matches the apiVersion of kro.
var ofKro = regexp.MustCompile(`(?m)^apiVersion:\s*["']?kro\.run/`)

// NoRules is the error for files without rules. where names the files.
func NoRules(where string, files []manifests.File) error {
	for _, file := range files {
		if ofKro.Match(file.Data) {
			return fmt.Errorf("%s is a ResourceGraphDefinition of kro, and no rule: docs/migrating.md says how to write it as one", file.Name)
		}
	}
	return fmt.Errorf("there are no rules in %s", where)
}

// DecodedRules lists the rules in a file for shell completion; none if it cannot be read.
func DecodedRules(file string) []*syntax.Rule {
	files, err := manifests.Read([]string{file}, strings.NewReader(""))
	if err != nil {
		return nil
	}
	var all []*syntax.Rule
	for _, file := range files {
		docs, _ := syntax.Decode(file.Name, file.Data)
		all = append(append(all, docs.Rules...), docs.Partial...)
	}
	return all
}

// RefusedRules prints findings with errors, and returns the error that ends the command.
func RefusedRules(cmd *cobra.Command, findings diagnostic.Findings) error {
	printer := diagnostic.Printer{Color: HasColors(cmd.ErrOrStderr())}
	return errors.Join(ErrFindings, printer.Print(cmd.ErrOrStderr(), findings))
}

// RefusedDefinitions reports the definitions in files that Kanon would not apply to a cluster.
func RefusedDefinitions(ctx context.Context, config *rest.Config, checked *manifests.Checked, namespace string) (diagnostic.Findings, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	return checked.RefusedDefinitions(ctx, definitions.Client{Interface: client}, namespace)
}

// RuleFlags are the flags of commands that check rules in files.
type RuleFlags struct {
	Filenames
	Schemas []string
	// Namespace is Kanon's own.
	Namespace string
	Limits    program.Limits
}

// Add declares the flags.
func (r *RuleFlags) Add(cmd *cobra.Command) {
	r.Filenames.Add(cmd, "rules")
	AddSchemas(cmd.Flags(), &r.Schemas)
	AddKanonNamespace(cmd.Flags(), &r.Namespace)
	AddLimits(cmd.Flags(), &r.Limits)
}

// Need is the check of the arguments of a command that reads all its files for rules.
func (r *RuleFlags) Need(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && !r.Given() {
		return Usagef(cmd, "name a file or a directory with rules, or - for standard input")
	}
	return nil
}

// Options are those of the compiler.
func (r *RuleFlags) Options() rules.Options {
	return rules.Options{Namespace: r.Namespace, Limits: r.Limits}
}

// Read is ReadRules with the flags.
func (r *RuleFlags) Read(cmd *cobra.Command, args []string) (*manifests.Checked, *manifests.Kinds, error) {
	return ReadRules(cmd, args, r.Schemas, r.Options())
}

// AddSchemas declares the flag for definitions of kinds.
func AddSchemas(flags *pflag.FlagSet, schemas *[]string) {
	flags.StringArrayVar(schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
}

// AddKanonNamespace declares the flag for Kanon's own namespace.
func AddKanonNamespace(flags *pflag.FlagSet, namespace *string) {
	flags.StringVar(namespace, "kanon-namespace", engine.DefaultNamespace, "Kanon's own namespace, to which its rules belong")
}

// AddLimits declares the flags for the limits of an evaluation, under a heading, because few callers need them. No limit
// can be disabled.
func AddLimits(flags *pflag.FlagSet, l *program.Limits) {
	AddGroup(flags, "Limits of evaluation", func(flags *pflag.FlagSet) {
		flags.Uint64Var(&l.ExpressionCost, "max-expression-cost", program.DefaultExpressionCost, "the most that one expression may cost, in CEL's units: about one for each call and turn of a loop")
		flags.Uint64Var(&l.ReconcileCost, "max-reconcile-cost", program.DefaultReconcileCost, "the most that all expressions of one evaluation of a rule may cost together")
		flags.DurationVar(&l.Deadline, "max-evaluation-time", program.DefaultDeadline, "how long expressions may take between two writes")
		flags.IntVar(&l.Children, "max-children", program.DefaultChildren, "the most children that a rule may make for one parent")
		flags.IntVar(&l.ObjectBytes, "max-object-bytes", program.DefaultObjectBytes, "the most bytes that a rendered object may have, with what the API server records of its fields")
		flags.Int64Var(&l.ReconcileBytes, "max-reconcile-bytes", program.DefaultReconcileBytes, "the most bytes that variables, items and what is rendered may take in one evaluation of a rule, all together")
		flags.IntVar(&l.ListLength, "max-list-length", program.DefaultListLength, "the longest list that forEach may go over, or that an expression may put into an object")
		flags.VisitAll(func(f *pflag.Flag) { f.Value = positive{f.Value} })
	})
}
