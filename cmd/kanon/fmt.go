package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/layout"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// errLayout ends a command whose output has named the files whose layout differs.
var errLayout = errors.New("files are not laid out as kanon fmt does; kanon fmt -w changes them")

// fmtOptions are the flags of kanon fmt.
type fmtOptions struct {
	files                    cli.Filenames
	write, diff, list, check bool
}

func newFmtCommand() *cobra.Command {
	var o fmtOptions
	cmd := &cobra.Command{
		Use:   "fmt [FILE|DIR|-...]",
		Short: "Lay rules out in one way",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !o.files.Given() && cli.IsTerminal(cmd.InOrStdin()) {
				return cli.Usagef(cmd, "name a file or a directory with rules, or - for standard input")
			}
			return nil
		},
		RunE: o.files.Run(o.run),
	}
	o.files.Add(cmd, "rules")
	flags := cmd.Flags()
	flags.BoolVarP(&o.write, "write", "w", false, "write the files")
	flags.BoolVarP(&o.diff, "diff", "d", false, "print the differences")
	flags.BoolVarP(&o.list, "list", "l", false, "print the names of the files that differ")
	flags.BoolVar(&o.check, "check", false, "print the names of the files that differ, and fail if there are some")
	return cmd
}

func (o *fmtOptions) run(cmd *cobra.Command, args []string) error {
	if o.write && o.check {
		return cli.Usagef(cmd, "--check changes nothing: leave out -w")
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	files, err := manifests.Read(args, cmd.InOrStdin())
	if err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	prints := !o.write && !o.diff && !o.list && !o.check
	if prints && len(files) != 1 {
		return cli.Usagef(cmd, "%s: choose what to do with them: -w, -d, -l or --check", diagnostic.Counted(len(files), "file"))
	}
	var findings diagnostic.Findings
	differ := false
	for _, file := range files {
		laid, wrong := layout.Text(file.Name, file.Data)
		findings = append(findings, wrong...)
		changed := !bytes.Equal(laid, file.Data)
		differ = differ || changed
		switch {
		case prints:
			_, err = cmd.OutOrStdout().Write(laid)
		case changed:
			err = o.report(cmd, file, laid)
		}
		if err != nil {
			return err
		}
	}
	printer := diagnostic.Printer{Color: cli.HasColors(cmd.ErrOrStderr())}
	switch {
	case len(findings) > 0:
		return errors.Join(cli.ErrFindings, printer.Print(cmd.ErrOrStderr(), findings))
	case differ && o.check:
		return errLayout
	case differ && o.diff && !o.write:
		return cli.ErrDifferences
	}
	return nil
}

// report lists, diffs or writes a file that differs, as the flags say.
func (o *fmtOptions) report(cmd *cobra.Command, file manifests.File, laid []byte) error {
	out := cmd.OutOrStdout()
	if o.list || o.check {
		if _, err := fmt.Fprintln(out, file.Name); err != nil {
			return fmt.Errorf("print the names: %w", err)
		}
	}
	if o.diff {
		text := manifests.UnifiedDiff(file.Name, syntax.Shown(file.Data), file.Name+" (kanon fmt)", syntax.Shown(laid))
		if cli.HasColors(out) {
			text = manifests.ColoredDiff(text)
		}
		if _, err := fmt.Fprint(out, text); err != nil {
			return fmt.Errorf("print the differences: %w", err)
		}
	}
	if !o.write {
		return nil
	}
	if file.Name == "stdin" {
		return cli.Usagef(cmd, "-w has no file to write standard input to")
	}
	if err := os.WriteFile(file.Name, laid, 0o644); err != nil { //nolint:gosec // an existing file keeps its mode
		return fmt.Errorf("%s: %w", file.Name, manifests.Reason(err))
	}
	return nil
}
