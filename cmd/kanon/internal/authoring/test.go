package authoring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/offline/ruletest"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program/template"
)

// testOptions are the flags of kanon test.
type testOptions struct {
	files     rulefiles.Filenames
	run       string
	verbose   bool
	update    bool
	coverage  bool
	junit     string
	namespace string
	limits    template.Limits
}

func newTestCommand() *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:   "test FILE|DIR...",
		Short: "Test rules without a cluster",
		Long: `Run the tests of rules, which stand beside them in files whose names end in
_test.yaml. Of a directory all such files below it are read.

A test file names a rule and a parent, and has cases. A case is a list of steps:
each changes the world (the parent is edited, a child becomes ready, an object
appears, time passes) and says what comes out then. docs/testing.md has all fields.
No cluster is needed.

The exit code is 0 when all cases pass, 1 when one fails, and 2 when the command is
called wrongly.`,
		Example: `  # All tests below a directory
  kanon test rules/

  # One case, with the time that it takes
  kanon test rules/webapp_test.yaml --run autoscaler -v

  # What no case takes, and a report for CI
  kanon test rules/ --coverage --junit report.xml

  # Take what comes out now for what is wanted, where a step has output
  kanon test rules/ --update`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !o.files.Given() {
				return exit.Usagef(cmd, "name a file or a directory with tests")
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
	rulefiles.AddKanonNamespace(flags, &o.namespace, "in which rules belong")
	rulefiles.AddLimits(flags, &o.limits)
	commandline.CompleteFlag(cmd, "kanon-namespace", func() []cobra.Completion { return nil })
	return cmd
}

func (o *testOptions) test(cmd *cobra.Command, args []string) error {
	if err := rulefiles.CheckLimits(o.limits); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	options := ruletest.Options{Update: o.update, Rules: rules.Options{Namespace: o.namespace, Limits: o.limits}}
	if o.run != "" {
		pattern, err := regexp.Compile(o.run)
		if err != nil {
			return exit.Usagef(cmd, "--run %q is no regular expression: %w", o.run, err)
		}
		options.Run = pattern
	}
	files, err := testFiles(args)
	if err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	out := cmd.OutOrStdout()
	printer := ruletest.Printer{Color: terminal.HasColors(out), Verbose: o.verbose}
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
	if _, err := fmt.Fprintln(out, ruletest.Summary(results)); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	if o.junit != "" {
		if err := writeReport(o.junit, results); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(results, (*ruletest.FileResult).Failed) {
		return exit.ErrFindings
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

func writeReport(path string, results []*ruletest.FileResult) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--junit %s: %w", path, manifests.Reason(err))
	}
	return errors.Join(ruletest.WriteJUnit(file, results), file.Close())
}
