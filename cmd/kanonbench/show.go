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
		Use:   "table FILE",
		Short: "Print the table of results that were measured before",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := readResults(args[0])
			if err != nil {
				return err
			}
			if requests {
				return report.WriteRequests(cmd.OutOrStdout(), run)
			}
			return report.WriteTable(cmd.OutOrStdout(), run)
		},
	}
	cmd.Flags().BoolVar(&requests, "requests", false, "the requests of each phase by verb and resource instead")
	return cmd
}

func readResults(path string) (run *report.Run, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open results: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return report.Read(file, path)
}

// newPageCommand makes the command that writes docs/performance.md and the plot
// beside it.
func newPageCommand() *cobra.Command {
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "page [FILE]",
		Short: "Make the page about performance of results that were measured before",
		Long: `Make the page about performance of results that were measured before, and the
plot beside it. Without results it says how to take some.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return writeFile(out, func(w io.Writer) error { return report.WritePage(w, nil, "") })
			}
			run, err := readResults(args[0])
			if err != nil {
				return err
			}
			if err := report.CheckQuiet(run); err != nil && !force {
				return fmt.Errorf("%s is not to be published: %w", args[0], err)
			}
			plot := strings.TrimSuffix(out, filepath.Ext(out)) + ".svg"
			return errors.Join(
				writeFile(plot, func(w io.Writer) error { return report.WritePlot(w, run) }),
				writeFile(out, func(w io.Writer) error { return report.WritePage(w, run, filepath.Base(plot)) }),
			)
		},
	}
	cmd.Flags().StringVar(&out, "out", "docs/performance.md", "the page; the plot is written beside it")
	cmd.Flags().BoolVar(&force, "force", false, "also of results that were taken while the machine had other work to do")
	return cmd
}
