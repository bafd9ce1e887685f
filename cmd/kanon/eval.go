package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

// evalOptions are the flags of kanon eval.
type evalOptions struct {
	cli.EvalOptions
	now     string
	output  string
	history string
}

func newEvalCommand() *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval [EXPR]",
		Short: "Evaluate an expression, once or at a prompt",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef(cmd, "unexpected argument %q: put quotes around the whole expression", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.eval(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Parent, "parent", "", "the parent: a file, or KIND/NAME in the cluster")
	flags.StringVar(&o.Rule, "rule", "", "file with the rule whose names expressions know, or the name of an installed one")
	flags.StringArrayVar(&o.With, "with", nil, "directory or file with objects that the cluster has, for a parent in a file; repeatable")
	cli.AddSchemas(flags, &o.Schemas)
	flags.StringVar(&o.Child, "child", "", "child of the rule whose names expressions know, too")
	flags.IntVar(&o.Item, "item", 0, "item of the child's forEach, from 0")
	flags.StringVar(&o.now, "now", "", "the time that expressions see, in RFC 3339; default: the time it is")
	flags.StringVar(&o.history, "history", explain.HistoryPath(), "file with the lines of earlier prompts; empty: none")
	flags.Lookup("history").DefValue = "in $XDG_STATE_HOME or ~/.local/state"
	formats := []string{"json", "yaml"}
	cli.Choice{Name: "output", Short: "o", Usage: strings.Join(formats, ", ") + ", with the type and the cost; default: the value", Values: formats}.Add(cmd, &o.output)
	o.AddNamespace(cmd, "parent in the cluster")
	o.AddCluster(cmd)
	cli.AddLimits(flags, &o.Limits)
	cli.CompleteFlagBy(cmd, "parent", o.CompleteSlashed)
	cli.CompleteFlagBy(cmd, "rule", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return o.CompleteRules(cmd), cobra.ShellCompDirectiveDefault // or a file
	})
	cli.CompleteFlag(cmd, "child", func() []cobra.Completion { return o.Children(cmd) })
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func (o *evalOptions) eval(cmd *cobra.Command, args []string) error {
	if err := o.check(cmd, args); err != nil {
		return err
	}
	session, err := o.Session(cmd)
	wrong := new(explain.FindingsError)
	switch {
	case errors.As(err, &wrong):
		return cli.RefusedRules(cmd, wrong.Findings)
	case err != nil:
		return err
	}
	p := &explain.Prompt{Session: session, Format: o.output, Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Color: cli.HasColors(cmd.ErrOrStderr())}
	if err := o.ask(cmd, p, args); !errors.Is(err, explain.ErrFailed) {
		return err
	}
	return cli.ErrFindings
}

// ask evaluates the argument, or the input.
func (o *evalOptions) ask(cmd *cobra.Command, p *explain.Prompt, args []string) error {
	if len(args) == 1 {
		return p.Once(args[0])
	}
	in, isFile := cmd.InOrStdin().(*os.File)
	if !isFile || !cli.IsTerminal(in) || !cli.IsTerminal(cmd.OutOrStdout()) {
		return p.Lines(cmd.InOrStdin())
	}
	if _, err := fmt.Fprintln(cmd.ErrOrStderr(), p.Session.Greeting()); err != nil {
		return fmt.Errorf("print the greeting: %w", err)
	}
	history, err := explain.OpenHistory(o.history)
	if err != nil { // the prompt works without a history
		_ = cli.Warn(cmd.ErrOrStderr(), []string{err.Error()})
		history = &explain.History{}
	}
	p.History = history
	err = p.Run(in)
	if failed := history.Err(); failed != nil {
		_ = cli.Warn(cmd.ErrOrStderr(), []string{failed.Error()})
	}
	return err
}

// check checks the flags.
func (o *evalOptions) check(cmd *cobra.Command, args []string) (err error) {
	if o.Now, err = timeOf(o.now); err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	switch {
	case len(args) == 1 && strings.TrimSpace(args[0]) == "":
		return cli.Usagef(cmd, "the expression is empty")
	case o.Rule != "" && o.Parent == "":
		return cli.Usagef(cmd, "a rule has values for a parent: name one with --parent")
	case o.Child != "" && o.Rule == "":
		return cli.Usagef(cmd, "--child names a child of a rule: name the rule with --rule")
	case o.Item != 0 && o.Child == "":
		return cli.Usagef(cmd, "--item is an item of a child's forEach: name the child with --child")
	case len(o.With) > 0 && (o.Rule == "" || o.InCluster()):
		return cli.Usagef(cmd, "--with has the objects that a rule reads for a parent in a file: give --rule and --parent FILE")
	case !o.InCluster() && o.Namespace != "":
		return cli.Usagef(cmd, "--namespace has no effect without a parent in the cluster, as --parent KIND/NAME")
	case !o.InCluster():
		return cli.RefuseUnused(cmd, "parent KIND/NAME")
	}
	return nil
}
