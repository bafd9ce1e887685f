package authoring

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/offline/layout"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/offline/textdiff"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// errLayout ends a command whose output has named the files whose layout differs.
var errLayout = errors.New("files are not laid out as kanon fmt does; kanon fmt -w changes them")

// fmtOptions are the flags of kanon fmt.
type fmtOptions struct {
	files                    rulefiles.Filenames
	write, diff, list, check bool
}

func newFmtCommand() *cobra.Command {
	var o fmtOptions
	cmd := &cobra.Command{
		Use:   "fmt [FILE|DIR|-...]",
		Short: "Lay rules out in one way",
		Long: `Lay rules out in one way: the fields in the order in which a rule is best read,
each level indented by two blanks, quotes only where they are needed, one empty
line at most between two fields. Comments stay, and go along with the field below
them. The rule stays the same.

Of a directory all files below it that end in .yaml or .yml are read; - is standard
input, and so is no argument. Only rules are changed: other documents stay as they are,
byte for byte. A file with a rule that is not YAML stays as it is, and the
exit code is 1; other mistakes do not matter.

Without a flag the text is printed. With -w it is written to the file, with -d the
differences are printed, and with -l the names of files that differ. --check
prints the names, too, and the exit code is 1 if there are some, for a pipeline. So
it is with -d.`,
		Example: `  # Lay out the rules of a directory
  kanon fmt -w rules/

  # Show what that would change
  kanon fmt -d rules/ || true

  # In a pipeline
  kanon fmt --check rules/

  # From an editor
  kanon fmt < rule.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !o.files.Given() && terminal.Is(cmd.InOrStdin()) {
				return exit.Usagef(cmd, "name a file or a directory with rules, or - for standard input")
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
		return exit.Usagef(cmd, "--check changes nothing: leave out -w")
	}
	if len(args) == 0 {
		args = []string{"-"}
	}
	files, err := manifests.Read(args, cmd.InOrStdin())
	if err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	prints := !o.write && !o.diff && !o.list && !o.check
	if prints && len(files) != 1 {
		return exit.Usagef(cmd, "%s: choose what to do with them: -w, -d, -l or --check", diagnostic.Counted(len(files), "file"))
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
	printer := diagnostic.Printer{Color: terminal.HasColors(cmd.ErrOrStderr())}
	switch {
	case len(findings) > 0:
		return errors.Join(exit.ErrFindings, printer.Print(cmd.ErrOrStderr(), findings))
	case differ && o.check:
		return errLayout
	case differ && o.diff && !o.write:
		return exit.ErrDifferences
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
		text := textdiff.Unified(file.Name, syntax.Shown(file.Data), file.Name+" (kanon fmt)", syntax.Shown(laid))
		if terminal.HasColors(out) {
			text = textdiff.Colored(text)
		}
		if _, err := fmt.Fprint(out, text); err != nil {
			return fmt.Errorf("print the differences: %w", err)
		}
	}
	if !o.write {
		return nil
	}
	if file.Name == "stdin" {
		return exit.Usagef(cmd, "-w has no file to write standard input to")
	}
	if err := os.WriteFile(file.Name, laid, 0o644); err != nil { //nolint:gosec // an existing file keeps its mode
		return fmt.Errorf("%s: %w", file.Name, manifests.Reason(err))
	}
	return nil
}
