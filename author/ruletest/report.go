package ruletest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/rules/diagnostic"
)

// Printer prints results as text.
type Printer struct {
	Color bool
	// Verbose prints each case, and not only the failed ones.
	Verbose bool
}

// ANSI colours.
const (
	red   = "\x1b[31m"
	green = "\x1b[32m"
	plain = "\x1b[0m"
)

func (p Printer) colored(color, text string) string {
	if !p.Color {
		return text
	}
	return color + text + plain
}

// Print prints the result of a file.
func (p Printer) Print(w io.Writer, r *FileResult) error {
	var out strings.Builder
	if err := (diagnostic.Printer{Color: p.Color}).Print(&out, r.Findings); err != nil {
		return err
	}
	if r.Err != nil {
		fmt.Fprintf(&out, "%s %s: %s\n", p.colored(red, "FAIL"), r.Path, r.Err)
	}
	for _, c := range r.Cases {
		switch {
		case c.Failed():
			fmt.Fprintf(&out, "%s %s: %s\n", p.colored(red, "FAIL"), r.Path, c.Name)
		case p.Verbose:
			fmt.Fprintf(&out, "%s %s: %s (%s)\n", p.colored(green, "ok  "), r.Path, c.Name, rounded(c.Duration))
		}
		for _, f := range c.Failures {
			p.failure(&out, f)
		}
	}
	switch {
	case r.Failed():
	case len(r.Cases) == 0:
		fmt.Fprintf(&out, "     %s: no case ran\n", r.Path)
	default:
		fmt.Fprintf(&out, "%s %s: %s (%s)\n", p.colored(green, "ok  "), r.Path, diagnostic.Counted(len(r.Cases), "case"), rounded(r.Duration))
	}
	if r.Updated > 0 {
		fmt.Fprintf(&out, "     %s: %s rewritten\n", r.Path, diagnostic.Counted(r.Updated, "output"))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (p Printer) failure(out *strings.Builder, f Failure) {
	at := f.At.String()
	if f.Step != "" {
		at += ": " + f.Step
	}
	fmt.Fprintf(out, "    %s: %s\n", at, strings.ReplaceAll(f.Message, "\n", "\n        "))
	diff := f.Diff
	if p.Color {
		diff = manifests.ColoredDiff(diff)
	}
	for line := range strings.Lines(diff) {
		out.WriteString("        " + line)
	}
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// Summary summarises results in one line: the number of cases, files and failures.
func Summary(results []*FileResult) string {
	cases, failed, broken := 0, 0, 0
	for _, r := range results {
		cases += len(r.Cases)
		if r.Err != nil || r.Findings.HasErrors() {
			broken++
		}
		for _, c := range r.Cases {
			if c.Failed() {
				failed++
			}
		}
	}
	text := fmt.Sprintf("%s in %s", diagnostic.Counted(cases, "case"), diagnostic.Counted(len(results), "file"))
	switch {
	case cases == 0 && broken == 0:
		return text + ": no case ran"
	case failed == 0 && broken == 0:
		return text + ": all pass"
	case broken == 0:
		return fmt.Sprintf("%s: %d failed", text, failed)
	}
	return fmt.Sprintf("%s: %d failed, and %s could not run", text, failed, diagnostic.Counted(broken, "file"))
}

// PrintCoverage prints the parts that no case has exercised.
func PrintCoverage(w io.Writer, c *Coverage) error {
	gaps, taken, all := c.Gaps()
	var out strings.Builder
	for _, gap := range gaps {
		fmt.Fprintf(&out, "%s: %s\n", gap.At, gap.Message)
	}
	fmt.Fprintf(&out, "coverage: %d of %d\n", taken, all)
	_, err := io.WriteString(w, out.String())
	return err
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
	Error   *junitFailure `xml:"error"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes results as JUnit XML for CI systems, with a suite for each file.
func WriteJUnit(w io.Writer, results []*FileResult) error {
	all := junitSuites{}
	for _, r := range results {
		suite := junitSuite{Name: r.Path, Tests: len(r.Cases), Time: seconds(r.Duration)}
		if message := r.brokenBy(); message != "" {
			suite.Tests++
			suite.Errors++
			suite.Cases = append(suite.Cases, junitCase{Name: "file", Class: r.Path, File: r.Path, Time: seconds(0), Error: &junitFailure{Message: message, Text: message}})
		}
		for _, c := range r.Cases {
			one := junitCase{Name: c.Name, Class: r.Path, File: r.Path, Time: seconds(c.Duration)}
			if c.Failed() {
				suite.Failures++
				var text strings.Builder
				for _, f := range c.Failures {
					Printer{}.failure(&text, f)
				}
				one.Failure = &junitFailure{Message: c.Failures[0].Message, Text: text.String()}
			}
			suite.Cases = append(suite.Cases, one)
		}
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// brokenBy says why no case of a file could run; empty if they could.
func (r *FileResult) brokenBy() string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.Findings.HasErrors():
		var texts []string
		for _, f := range r.Findings {
			texts = append(texts, f.String())
		}
		return strings.Join(texts, "\n")
	}
	return ""
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
