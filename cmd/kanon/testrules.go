package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/ruletest"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/rules"
)

// testOptions are the flags of kanon test.
type testOptions struct {
	files    cli.Filenames
	run      string
	verbose  bool
	update   bool
	coverage bool
	junit    string
	options  rules.Options
}

func newTestCommand() *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:   "test FILE|DIR...",
		Short: "Test rules without a cluster",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !o.files.Given() {
				return cli.Usagef(cmd, "name a file or a directory with tests")
			}
			return nil
		},
		RunE: o.files.Run(o.test),
	}
	flags := cmd.Flags()
	o.files.Only = ruletest.IsTestFile
	o.files.Add(cmd, "tests")
	flags.Lookup("filename").Usage = "file or directory with tests; repeatable" // not standard input: tests name files beside them
	flags.StringVar(&o.run, "run", "", "run the cases whose file and name, as in \"web_test.yaml: scales\", match this `regexp`")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print each case")
	flags.BoolVar(&o.update, "update", false, "rewrite the outputs in the files")
	flags.BoolVar(&o.coverage, "coverage", false, "print which parts of the rules no case takes")
	flags.StringVar(&o.junit, "junit", "", "file to write a report in JUnit's XML to")
	cli.AddKanonNamespace(flags, &o.options.Namespace)
	cli.AddLimits(flags, &o.options.Limits)
	return cmd
}

func (o *testOptions) test(cmd *cobra.Command, args []string) error {
	options := ruletest.Options{Update: o.update, Rules: o.options}
	if o.run != "" {
		pattern, err := regexp.Compile(o.run)
		if err != nil {
			return cli.Usagef(cmd, "--run %q is no regular expression: %w", o.run, err)
		}
		options.Run = pattern
	}
	files, err := testFiles(args)
	if err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	out := cmd.OutOrStdout()
	printer := ruletest.Printer{Color: cli.HasColors(out), Verbose: o.verbose}
	var coverage *ruletest.Coverage
	if o.coverage {
		coverage = &ruletest.Coverage{}
	}
	var results []*ruletest.FileResult
	for _, file := range files {
		result := ruletest.Run(cmd.Context(), file, options, coverage)
		results = append(results, result)
		if err := printer.Print(out, result); err != nil {
			return err
		}
	}
	if o.coverage {
		if err := ruletest.PrintCoverage(out, coverage); err != nil {
			return err
		}
	}
	if err := cli.Say(out, "%s\n", ruletest.Summary(results)); err != nil {
		return err
	}
	if o.junit != "" {
		file, err := os.Create(o.junit)
		if err != nil {
			return fmt.Errorf("--junit %s: %w", o.junit, manifests.Reason(err))
		}
		if err := errors.Join(ruletest.WriteJUnit(file, results), file.Close()); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(results, (*ruletest.FileResult).Failed) {
		return cli.ErrFindings
	}
	if ran := slices.ContainsFunc(results, func(r *ruletest.FileResult) bool { return len(r.Cases) > 0 }); !ran {
		return fmt.Errorf("no case matches --run %q", o.run)
	}
	return nil
}

// testFiles lists the test files that the arguments name or contain.
func testFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		below, err := manifests.FilesOf(arg, ".yaml", ".yml")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, manifests.Reason(err))
		}
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			below = slices.DeleteFunc(below, func(path string) bool { return !ruletest.IsTestFile(path) })
		}
		if len(below) == 0 {
			return nil, fmt.Errorf("there is no file with tests, whose name ends in _test.yaml, in %s", arg)
		}
		files = append(files, below...)
	}
	if slices.Contains(args, "-") {
		return nil, errors.New("tests are read from files, which name others beside them, and not from standard input")
	}
	for i := range files {
		files[i] = strings.TrimPrefix(filepath.Clean(files[i]), "./")
	}
	slices.Sort(files)
	return slices.Compact(files), nil // a file may be named both directly and by its directory
}
