package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

func newTableCommand() *cobra.Command {
	var requests bool
	cmd := &cobra.Command{
		Use:   "table FILE...",
		Short: "Print the tables of results that were measured before",
		Long: `Print the tables of results that were measured before. Several files count as one
run, whose rounds are all of them.`,
		Example: `  kanonbench table bench.txt
  kanonbench table monday.txt tuesday.txt
  kanonbench table --requests bench.txt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, differ, err := readResults(args)
			if err != nil {
				return err
			}
			if differ != nil {
				cmd.PrintErrln("beware:", differ)
			}
			if requests {
				return report.WriteRequests(cmd.OutOrStdout(), run)
			}
			return writeTables(cmd.OutOrStdout(), run)
		},
	}
	cmd.Flags().BoolVar(&requests, "requests", false, "the requests of each phase by verb and resource instead")
	return cmd
}

// writeTables writes all tables except that of the requests.
func writeTables(w io.Writer, run *report.Run) error {
	if err := report.WriteTable(w, run); err != nil {
		return err
	}
	var more strings.Builder
	if err := errors.Join(report.WriteGrowth(&more, run), report.WriteSize(&more, run)); err != nil || more.Len() == 0 {
		return err
	}
	if _, err := fmt.Fprintf(w, "\n%s", more.String()); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	return nil
}

// readResults reads files as one run. differ says why they may not be comparable.
func readResults(paths []string) (run *report.Run, differ, err error) {
	runs := make([]*report.Run, len(paths))
	for i, path := range paths {
		if runs[i], err = readFile(path); err != nil {
			return nil, nil, err
		}
	}
	run, differ = report.Merge(runs...)
	return run, differ, nil
}

func readFile(path string) (run *report.Run, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open results: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return report.Read(file, path)
}

// newPageCommand makes the command that writes docs/performance.md, with all tables and the plot beside it.
func newPageCommand() *cobra.Command {
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "page [FILE...]",
		Short: "Make the page about performance of results that were measured before",
		Long: `Make the page about performance of results that were measured before, and beside it
the page with all tables (NAME-results.md) and the plot (NAME.svg). Several files count as one run, whose rounds are all of them; they
must be of one machine and of the same programs. Without results the page says how
to take some.`,
		Example: `  kanonbench page bench.txt --out docs/performance.md
  kanonbench page bench.txt growth.txt
  kanonbench page --force --out /tmp/look.md bench.txt`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return writeFile(out, func(w io.Writer) error { return report.WritePage(w, nil, "", "") })
			}
			run, differ, err := readResults(args)
			if err != nil {
				return err
			}
			if err := errors.Join(differ, report.CheckQuiet(run)); err != nil && !force {
				return fmt.Errorf("not to be published: %w", err)
			}
			name := strings.TrimSuffix(out, filepath.Ext(out))
			plot, results := name+".svg", name+"-results.md"
			return errors.Join(
				writeFile(plot, func(w io.Writer) error { return report.WritePlot(w, run) }),
				writeFile(results, func(w io.Writer) error { return report.WriteResults(w, run) }),
				writeFile(out, func(w io.Writer) error { return report.WritePage(w, run, filepath.Base(plot), filepath.Base(results)) }),
			)
		},
	}
	cmd.Flags().StringVar(&out, "out", "docs/performance.md", "the page; all tables and the plot are written beside it")
	cmd.Flags().BoolVar(&force, "force", false, "also of results of different programs, and of those that were taken while the machine had other work to do")
	return cmd
}
