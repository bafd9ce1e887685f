package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// validateOptions are the flags of kanon validate.
type validateOptions struct {
	rules   cli.RuleFlags
	output  string
	explain string
	strict  bool
	fix     bool
	dryRun  bool
	// live is true if the kinds are those of a cluster.
	live    bool
	cluster cli.ClusterFlags
}

func newValidateCommand() *cobra.Command {
	o := validateOptions{output: string(manifests.ReportText)}
	cmd := &cobra.Command{
		Use:   "validate FILE|DIR|-...",
		Short: "Check rules without running them",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("explain") && len(args) > 0:
				return cli.Usagef(cmd, "--explain checks nothing: leave out %q", args[0])
			case cmd.Flags().Changed("explain") && o.rules.Given():
				return cli.Usagef(cmd, "--explain checks nothing: leave out --filename")
			case cmd.Flags().Changed("explain"):
				return nil
			}
			return o.rules.Need(cmd, args)
		},
		RunE: o.rules.Run(func(cmd *cobra.Command, files []string) error {
			if !cmd.Flags().Changed("explain") {
				return o.validate(cmd, files)
			}
			err := manifests.ExplainCode(cmd.OutOrStdout(), o.explain)
			if errors.As(err, new(*manifests.UnknownCodeError)) {
				err = cli.Usagef(cmd, "--explain: %w", err)
			}
			return err
		}),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *validateOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.rules.Add(cmd)
	formats := manifests.ReportFormats()
	cli.Choice{Name: "output", Short: "o", Usage: "form of the findings: " + strings.Join(formats, ", "), Values: formats}.Add(cmd, &o.output)
	flags.StringVar(&o.explain, "explain", "", "explain a `code` such as KN0204, and check nothing")
	flags.BoolVar(&o.fix, "fix", false, "fix in the files what can be fixed, and print it")
	flags.BoolVar(&o.dryRun, "dry-run", false, "with --fix: print a diff and write nothing")
	flags.BoolVar(&o.strict, "strict", false, "count warnings as errors")
	o.cluster.AddChoice(flags, "take the kinds from the cluster; --cluster=NAME: from that cluster in the kubeconfig")
	o.cluster.AddForAnswers(cmd, cli.ClusterGroup+" (with --cluster)")
	cli.CompleteFlag(cmd, "explain", completeCodes)
}

func (o *validateOptions) validate(cmd *cobra.Command, args []string) error {
	if o.live = o.cluster.Chosen(); !o.live {
		if err := cli.RefuseUnused(cmd, "cluster"); err != nil {
			return err
		}
	}
	inputs, err := manifests.Read(args, cmd.InOrStdin())
	if err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	beside := args
	if o.live {
		beside = nil // the cluster has the definitions
	}
	schemas, err := manifests.SchemasFor(beside, o.rules.Schemas, cmd.InOrStdin())
	if err != nil {
		return cli.Usagef(cmd, "--schemas %w", err)
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
		return cli.NoRules(strings.Join(args, ", "), inputs)
	}
	if check.Findings.HasErrors() || o.strict && len(check.Findings) > 0 || different {
		return cli.ErrFindings
	}
	return nil
}

// checkFix rejects combinations of flags.
func (o *validateOptions) checkFix(cmd *cobra.Command, args []string) error {
	switch {
	case o.dryRun && !o.fix:
		return cli.Usagef(cmd, "--dry-run goes with --fix")
	case o.fix && manifests.ReportFormat(o.output) != manifests.ReportText:
		return cli.Usagef(cmd, "--fix prints text; -o %s has the fixes of findings without it", o.output)
	case o.fix && slices.Contains(args, "-"):
		return cli.Usagef(cmd, "--fix writes files, and standard input is none")
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
	text, verb := "", "fixed"
	for i, file := range changed {
		if o.dryRun {
			text += manifests.UnifiedDiff(file.Name, syntax.Shown(was[i]), file.Name+" (fixed)", syntax.Shown(file.Data))
		} else if err := os.WriteFile(file.Name, file.Data, 0o644); err != nil { //nolint:gosec // an existing file keeps its mode
			return nil, false, fmt.Errorf("%s: %w", file.Name, manifests.Reason(err))
		}
	}
	if o.dryRun {
		verb = "would be fixed, and this would be left:"
		if cli.HasColors(cmd.OutOrStdout()) {
			text = manifests.ColoredDiff(text)
		}
	}
	for _, f := range fixed.Done {
		if !o.dryRun {
			text += fmt.Sprintf("%s: fixed: %s [%s]\n", f.Position, f.Fix.Title, f.Code)
		}
	}
	if len(changed) > 0 {
		text += fmt.Sprintf("%s in %s %s\n", diagnostic.Counted(len(fixed.Done), "finding"), diagnostic.Counted(len(changed), "file"), verb)
	}
	return fixed.Left, o.dryRun && len(changed) > 0, cli.Say(cmd.OutOrStdout(), "%s", text)
}

// print writes the findings. If there was nothing to check, it writes no summary, as an error follows.
func (o *validateOptions) print(out io.Writer, check *manifests.Checked) error {
	r := manifests.Report{Findings: check.Findings, Summary: check.Summary(), Version: cli.Version(), Color: cli.HasColors(out)}
	if check.Rules == 0 && len(check.Findings) == 0 {
		r.Summary = ""
	}
	return r.Write(out, manifests.ReportFormat(o.output))
}

// check checks the rules against the built-in kinds, or those of a cluster.
func (o *validateOptions) check(cmd *cobra.Command, inputs, schemas []manifests.File) (*manifests.Checked, error) {
	options := o.rules.Options()
	if !o.live {
		kinds, err := manifests.BuiltinKinds()
		if err != nil {
			return nil, err
		}
		return manifests.Check(cmd.Context(), inputs, schemas, kinds, options)
	}
	if progress := cmd.ErrOrStderr(); cli.IsTerminal(progress) {
		defer cli.SayIfSlow(progress, "Asking the cluster for its kinds and their fields …")()
	}
	config, err := o.cluster.Reach(cmd)
	if err != nil {
		return nil, err
	}
	kinds, err := manifests.ClusterKinds(cmd.Context(), config)
	if err != nil {
		return nil, err
	}
	checked, err := manifests.Check(cmd.Context(), inputs, schemas, kinds, options)
	if err != nil {
		return nil, err
	}
	held, err := cli.RefusedDefinitions(cmd.Context(), config, checked, o.rules.Namespace)
	checked.Findings = append(checked.Findings, held...).Sorted().Shortened()
	return checked, err
}

func completeCodes() []cobra.Completion {
	var values []cobra.Completion
	for _, info := range diagnostic.Codes() {
		values = append(values, cobra.CompletionWithDesc(string(info.Code), info.Title))
	}
	return values
}
