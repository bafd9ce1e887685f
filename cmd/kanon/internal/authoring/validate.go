package authoring

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/cmd/kanon/internal/version"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/offline/report"
	"kanon.dev/kanon/offline/textdiff"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

// validateOptions are the flags of kanon validate.
type validateOptions struct {
	files     rulefiles.Filenames
	schemas   []string
	namespace string
	output    string
	explain   string
	strict    bool
	fix       bool
	dryRun    bool
	limits    template.Limits
	// live is true if the kinds are those of a cluster.
	live    bool
	cluster connection.Flags
}

func newValidateCommand() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate FILE|DIR|-...",
		Short: "Check rules without running them",
		Long: `Check rules the way kanon run does before it runs them, and show all that is
wrong: the line, the place in it, a code that the documentation explains, and what
to write instead where that is known.

A file may hold rules, CustomResourceDefinitions, which are checked as the API server
checks them, ConfigMaps with rules, and other documents, which are passed over. Of a
directory all files below it that end in .yaml or .yml are read; - is standard input.

No cluster is needed: known are the kinds of Kubernetes itself and those of the
CustomResourceDefinitions in the files, beside them and in --schemas, with their fields. --schemas
also takes what an API server publishes: the output of kubectl get --raw
/openapi/v3/apis/GROUP/VERSION. With --cluster the kinds and their fields are those
of your cluster, and it is checked whether Kanon would apply the definitions that the
schemas of rules make, or objects would lose something.

For other programs there is -o: json is a list of all findings, sarif the format of
code scanners (SARIF 2.1.0), and github what a GitHub workflow shows beside the lines
of a pull request.

With --fix the findings whose way out is known exactly are fixed in the files: names
that are misspelt, missing quotes, missing string(…) and the like. Comments and layout stay. What was done is
printed, then what is left to find. --dry-run prints the changes as a diff and writes nothing.

With --explain nothing is checked: it prints what the documentation says about a code,
with a wrong and a right example.

The exit code is 0 without errors, 1 with errors (with --strict also with
warnings) or without any rule, 2 when the command is called wrongly, and 3 when
the cluster does not answer.`,
		Example: `  # The rules of a directory, with the definitions beside them
  kanon validate rules/ --schemas crds/

  # A ConfigMap that a tool has made, against the kinds of your cluster
  kubectl kustomize . | kanon validate --cluster -

  # What would be fixed, and then fix it
  kanon validate rules/ --fix --dry-run
  kanon validate rules/ --fix

  # What a code means
  kanon validate --explain KN0204

  # A report for code scanning
  kanon validate rules/ -o sarif > kanon.sarif`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("explain") && len(args) > 0:
				return exit.Usagef(cmd, "--explain checks nothing: leave out %q", args[0])
			case cmd.Flags().Changed("explain") && o.files.Given():
				return exit.Usagef(cmd, "--explain checks nothing: leave out --filename")
			case !cmd.Flags().Changed("explain") && len(args) == 0 && !o.files.Given():
				return exit.Usagef(cmd, "name a file or a directory with rules, or - for standard input")
			}
			return nil
		},
		RunE: o.files.Run(func(cmd *cobra.Command, files []string) error {
			if cmd.Flags().Changed("explain") {
				return o.printExplanation(cmd)
			}
			return o.validate(cmd, files)
		}),
	}
	o.addFlags(cmd)
	return cmd
}

// printExplanation prints the explanation of a code for --explain.
func (o *validateOptions) printExplanation(cmd *cobra.Command) error {
	err := report.Explain(cmd.OutOrStdout(), o.explain)
	if errors.As(err, new(*report.UnknownCodeError)) {
		err = exit.Usagef(cmd, "--explain: %w", err)
	}
	return err
}

func (o *validateOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.files.Add(cmd, "rules")
	flags.StringArrayVar(&o.schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
	flags.StringVarP(&o.output, "output", "o", string(report.Text), "form of the findings: "+formatNames())
	flags.StringVar(&o.explain, "explain", "", "explain a `code` such as KN0204, and check nothing")
	flags.BoolVar(&o.fix, "fix", false, "fix in the files what can be fixed, and print it")
	flags.BoolVar(&o.dryRun, "dry-run", false, "with --fix: print a diff and write nothing")
	flags.BoolVar(&o.strict, "strict", false, "count warnings as errors")
	rulefiles.AddKanonNamespace(flags, &o.namespace, "in which rules belong")
	o.cluster.AddChoice(flags, &o.live, "take the kinds from the cluster; --cluster=NAME: from that cluster in the kubeconfig")
	o.cluster.Add(flags, connection.Group+" (with --cluster)")
	o.cluster.AddTimeout(flags, connection.Group+" (with --cluster)")
	rulefiles.AddLimits(flags, &o.limits)
	o.cluster.Complete(cmd)
	commandline.CompleteFlag(cmd, "output", completeFormats)
	commandline.CompleteFlag(cmd, "explain", completeCodes)
}

func (o *validateOptions) validate(cmd *cobra.Command, args []string) error {
	if err := rulefiles.CheckLimits(o.limits); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	if !slices.Contains(report.Formats(), report.Format(o.output)) {
		return exit.Usagef(cmd, "--output must be %s, not %q", formatNames(), o.output)
	}
	if !o.live {
		if err := connection.RefuseUnused(cmd, "cluster"); err != nil {
			return err
		}
	}
	inputs, err := manifests.Read(args, cmd.InOrStdin())
	if err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	beside := args
	if o.live {
		beside = nil // the cluster has the definitions
	}
	schemas, err := manifests.SchemasFor(beside, o.schemas, cmd.InOrStdin())
	if err != nil {
		return exit.Usagef(cmd, "--schemas %w", err)
	}
	if err := o.checkFix(cmd, args); err != nil {
		return err
	}
	check, different, err := o.checkAndFix(cmd, inputs, schemas)
	if err != nil {
		return err
	}
	if err := o.print(cmd.OutOrStdout(), check); err != nil {
		return err
	}
	if check.Rules == 0 && len(check.Findings) == 0 {
		return rulefiles.NoRules(strings.Join(args, ", "), inputs)
	}
	if check.Findings.HasErrors() || o.strict && len(check.Findings) > 0 || different {
		return exit.ErrFindings
	}
	return nil
}

// checkFix rejects combinations of flags.
func (o *validateOptions) checkFix(cmd *cobra.Command, args []string) error {
	switch {
	case o.dryRun && !o.fix:
		return exit.Usagef(cmd, "--dry-run goes with --fix")
	case o.fix && report.Format(o.output) != report.Text:
		return exit.Usagef(cmd, "--fix prints text; -o %s has the fixes of findings without it", o.output)
	case o.fix && slices.Contains(args, "-"):
		return exit.Usagef(cmd, "--fix writes files, and standard input is none")
	}
	return nil
}

// checkAndFix checks the rules, and with --fix applies fixes first. different is true if a dry run would change files.
func (o *validateOptions) checkAndFix(cmd *cobra.Command, inputs, schemas []manifests.File) (checked *manifests.Checked, different bool, err error) {
	check := func(files []manifests.File) (*manifests.Checked, error) { return o.check(cmd, files, schemas) }
	if !o.fix {
		checked, err = check(inputs)
		return checked, false, err
	}
	fixed, err := manifests.Fix(inputs, check)
	if err != nil {
		return nil, false, err
	}
	changed, was := fixed.Changed(inputs)
	var text strings.Builder
	for i, file := range changed {
		if o.dryRun {
			text.WriteString(textdiff.Unified(file.Name, syntax.Shown(was[i]), file.Name+" (fixed)", syntax.Shown(file.Data)))
		} else if err := rewrite(file); err != nil {
			return nil, false, err
		}
	}
	if o.dryRun && terminal.HasColors(cmd.OutOrStdout()) {
		colored := textdiff.Colored(text.String())
		text.Reset()
		text.WriteString(colored)
	}
	if !o.dryRun {
		for _, f := range fixed.Done {
			fmt.Fprintf(&text, "%s: fixed: %s [%s]\n", f.Position, f.Fix.Title, f.Code)
		}
	}
	if len(changed) > 0 {
		verb := "fixed"
		if o.dryRun {
			verb = "would be fixed, and this would be left:"
		}
		fmt.Fprintf(&text, "%s in %s %s\n", diagnostic.Counted(len(fixed.Done), "finding"), diagnostic.Counted(len(changed), "file"), verb)
	}
	if _, err := io.WriteString(cmd.OutOrStdout(), text.String()); err != nil {
		return nil, false, fmt.Errorf("print what is fixed: %w", err)
	}
	return fixed.Left, o.dryRun && len(changed) > 0, nil
}

// rewrite writes an existing file, and keeps its permissions.
func rewrite(file manifests.File) error {
	info, err := os.Stat(file.Name)
	if err == nil {
		err = os.WriteFile(file.Name, file.Data, info.Mode().Perm())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name, manifests.Reason(err))
	}
	return nil
}

// print writes the findings. If there was nothing to check, it writes no summary, as an error follows.
func (o *validateOptions) print(out io.Writer, check *manifests.Checked) error {
	r := report.Report{Findings: check.Findings, Summary: check.Summary(), Version: version.String(), Color: terminal.HasColors(out)}
	if check.Rules == 0 && len(check.Findings) == 0 {
		r.Summary = ""
	}
	return r.Write(out, report.Format(o.output))
}

func formatNames() string {
	names := completeFormats()
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// check checks the rules against the built-in kinds, or those of a cluster.
func (o *validateOptions) check(cmd *cobra.Command, inputs, schemas []manifests.File) (*manifests.Checked, error) {
	options := rules.Options{Namespace: o.namespace, Limits: o.limits}
	if !o.live {
		kinds, err := manifests.BuiltinKinds()
		if err != nil {
			return nil, err
		}
		return manifests.Check(cmd.Context(), inputs, schemas, kinds, options)
	}
	if progress := cmd.ErrOrStderr(); terminal.Is(progress) {
		defer terminal.SayIfSlow(progress, "Asking the cluster for its kinds and their fields …")()
	}
	config, err := o.cluster.Reach(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	kinds, err := manifests.ClusterKinds(cmd.Context(), config)
	if err != nil {
		return nil, exit.OfCluster(config.Host, err)
	}
	checked, err := manifests.Check(cmd.Context(), inputs, schemas, kinds, options)
	if err != nil {
		return nil, exit.OfCluster(config.Host, err)
	}
	held, err := rulefiles.RefusedDefinitions(cmd.Context(), config, checked, o.namespace)
	checked.Findings = append(checked.Findings, held...).Sorted().Shortened()
	return checked, exit.OfCluster(config.Host, err)
}

func completeFormats() []cobra.Completion {
	var values []cobra.Completion
	for _, format := range report.Formats() {
		values = append(values, string(format))
	}
	return values
}

func completeCodes() []cobra.Completion {
	var values []cobra.Completion
	for _, info := range diagnostic.Codes() {
		values = append(values, cobra.CompletionWithDesc(string(info.Code), info.Title))
	}
	return values
}
