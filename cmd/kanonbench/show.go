package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

func newTableCommand() *cobra.Command {
	var requests bool
	cmd := &cobra.Command{
		Use:   "table FILE...",
		Short: "Print the tables of results that were measured before",
		Long: `Print the tables of results that were measured before. Several files count as one
run, whose rounds are all of them: they must be of one machine and of the same programs.`,
		Example: `  kanonbench table bench.txt
  kanonbench table monday.txt tuesday.txt
  kanonbench table --requests bench.txt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all := new(report.Run)
			for _, path := range args {
				run, err := readFile(path)
				if err != nil {
					return err
				}
				all.Samples = append(all.Samples, run.Samples...)
				all.Circumstances = append(all.Circumstances, run.Circumstances...)
			}
			show := report.Tables
			if requests {
				show = report.RequestTables
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), show(all))
			return err
		},
	}
	cmd.Flags().BoolVar(&requests, "requests", false, "the requests of each phase by verb and resource instead")
	return cmd
}

func readFile(path string) (run *report.Run, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open results: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return report.Read(file, path)
}
