package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/manifests"
	"kanon.dev/kanon/report"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program/template"
)

// errFindings ends a command whose output has said already what is wrong.
var errFindings = errors.New("the rules have errors")

// validateOptions are the flags of kanon validate.
type validateOptions struct {
	schemas   []string
	namespace string
	output    string
	explain   string
	strict    bool
	limits    template.Limits
	// live is true if the kinds are those of a cluster, which the flags find.
	live    bool
	cluster clusterFlags
}

func newValidateCommand() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate FILE|DIR|-...",
		Short: "Check rules without running them",
		Long: `Check rules the way kanon run does before it runs them, and show all that is
wrong: the line, the place in it, a code that docs/findings.md explains, and what
to write instead where that is known.

A file may hold rules, CustomResourceDefinitions, which are checked as the API server
checks them, ConfigMaps with rules, and other documents, which are passed over. Of a
directory all files below it that end in .yaml or .yml are read; - is standard input.

No cluster is needed: known are the kinds of Kubernetes itself and those of the
CustomResourceDefinitions in the files, beside them and in --schemas, with their fields. --schemas
also takes what an API server publishes: the output of kubectl get --raw
/openapi/v3/apis/GROUP/VERSION. With --cluster the kinds and their fields are those
of your cluster.

For other programs there is -o: json is a list of all findings, sarif the format of
code scanners (SARIF 2.1.0), and github what a GitHub workflow shows beside the lines
of a pull request.

With --explain nothing is checked: it prints what docs/findings.md says about a code,
with a wrong and a right example.

The exit code is 0 without errors, 1 with errors (with --strict also with
warnings) or without any rule, 2 when the command is called wrongly, and 3 when
the cluster does not answer.`,
		Example: `  # The rules of a directory, with the definitions beside them
  kanon validate rules/ --schemas crds/

  # A ConfigMap that a tool has made, against the kinds of your cluster
  kubectl kustomize . | kanon validate --cluster -

  # What a code means
  kanon validate --explain KN0204

  # A report for code scanning
  kanon validate rules/ -o sarif > kanon.sarif`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("explain") && len(args) > 0:
				return usageErrorf(cmd, "--explain checks nothing: leave out %q", args[0])
			case !cmd.Flags().Changed("explain") && len(args) == 0:
				return usageErrorf(cmd, "name a file or a directory with rules, or - for standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("explain") {
				return explain(cmd, o.explain)
			}
			return o.validate(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
	flags.StringVarP(&o.output, "output", "o", string(report.Text), "form of the findings: "+formatNames())
	flags.StringVar(&o.explain, "explain", "", "explain a `code` such as KN0204, and check nothing")
	flags.BoolVar(&o.strict, "strict", false, "count warnings as errors")
	flags.StringVar(&o.namespace, "namespace", engine.DefaultNamespace, "Kanon's own namespace, in which rules belong")
	flags.Var(clusterChoice{&o.live, &o.cluster.overrides.Context.Cluster}, "cluster", "take the kinds from the cluster; --cluster=NAME: from that cluster in the kubeconfig")
	flags.Lookup("cluster").NoOptDefVal = "true"
	o.cluster.add(flags, clusterGroup+" (with --cluster)")
	o.cluster.addTimeout(flags, clusterGroup+" (with --cluster)")
	addLimits(flags, &o.limits)
	o.cluster.complete(cmd)
	completeFlag(cmd, "output", completeFormats)
	completeFlag(cmd, "explain", completeCodes)
	return cmd
}

func (o *validateOptions) validate(cmd *cobra.Command, args []string) error {
	if err := checkLimits(o.limits); err != nil {
		return usageErrorf(cmd, "%w", err)
	}
	if !slices.Contains(report.Formats(), report.Format(o.output)) {
		return usageErrorf(cmd, "--output must be %s, not %q", formatNames(), o.output)
	}
	if !o.live {
		if err := refuseUnused(cmd, "cluster"); err != nil {
			return err
		}
	}
	inputs, err := manifests.Read(args, cmd.InOrStdin())
	if err != nil {
		return usageErrorf(cmd, "%w", err)
	}
	beside := args
	if o.live {
		beside = nil // the cluster has the definitions
	}
	schemas, err := manifests.SchemasFor(beside, o.schemas, cmd.InOrStdin())
	if err != nil {
		return usageErrorf(cmd, "--schemas %w", err)
	}
	check, err := o.check(cmd, inputs, schemas)
	if err != nil {
		return err
	}
	if err := o.print(cmd.OutOrStdout(), check); err != nil {
		return err
	}
	if check.Rules == 0 && len(check.Findings) == 0 {
		return fmt.Errorf("there are no rules in %s", strings.Join(args, ", "))
	}
	if check.Findings.HasErrors() || o.strict && len(check.Findings) > 0 {
		return errFindings
	}
	return nil
}

// print writes what was found. Where there was nothing to check, the forms for people say so by an error alone.
func (o *validateOptions) print(out io.Writer, check *manifests.Checked) error {
	r := report.Report{Findings: check.Findings, Summary: check.Summary(), Version: version(), Color: hasColors(out)}
	if check.Rules == 0 && len(check.Findings) == 0 {
		r.Summary = ""
	}
	return r.Write(out, report.Format(o.output))
}

func formatNames() string {
	formats := report.Formats()
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = string(format)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// check checks the rules against the kinds of Kubernetes, or of a cluster.
func (o *validateOptions) check(cmd *cobra.Command, inputs, schemas []manifests.File) (*manifests.Checked, error) {
	options := rules.Options{Namespace: o.namespace, Limits: o.limits}
	if !o.live {
		kinds, err := manifests.BuiltinKinds()
		if err != nil {
			return nil, err
		}
		return manifests.Check(cmd.Context(), inputs, schemas, kinds, options)
	}
	if progress := cmd.ErrOrStderr(); isTerminal(progress) {
		defer sayIfSlow(progress, "Asking the cluster for its kinds and their fields …")()
	}
	config, err := o.cluster.reach(cmd.Context())
	if err != nil {
		return nil, err
	}
	kinds, err := manifests.ClusterKinds(cmd.Context(), config)
	if err != nil {
		return nil, clusterError(config.Host, err)
	}
	checked, err := manifests.Check(cmd.Context(), inputs, schemas, kinds, options)
	if err != nil {
		return nil, clusterError(config.Host, err)
	}
	return checked, nil
}
