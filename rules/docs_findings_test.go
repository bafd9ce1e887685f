package rules_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A search for the message of a finding leads to its entry in docs/reference/findings: the entry of
// its code lists it.
func TestFindingsPageHasTheMessages(t *testing.T) {
	t.Parallel()
	entries, err := filepath.Glob("../docs/reference/findings/[a-z]*.md") // README.md has none
	if err != nil {
		t.Fatal(err)
	}
	listed := listedMessages(t, pages(t, entries...))
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	finding := regexp.MustCompile(`(?m)^\S+: (?:error|warning): (.+) \[(KN\d{4})\]$`)
	checked := 0
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if f.Name != "findings" {
				continue
			}
			for _, m := range finding.FindAllStringSubmatch(string(f.Data), -1) {
				checked++
				if forms := listed[m[2]]; forms == nil || !forms.MatchString(m[1]) {
					t.Errorf("%s: the entry of %s has no message that fits: %s", path, m[2], m[1])
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("found %d findings in testdata; they have changed their form", checked)
	}
}

// listedMessages has for each code a pattern of the messages that its entry lists. A
// placeholder, such as <name>, stands for any text, and a hint can follow the message.
func listedMessages(t *testing.T, page string) map[string]*regexp.Regexp {
	t.Helper()
	entries := regexp.MustCompile(`(?m)^### (KN\d{4}): .*\n\nMessages:\n\n((?:- .+\n)+)`).FindAllStringSubmatch(page, -1)
	if headings := strings.Count(page, "\n### "); len(entries) != headings {
		t.Errorf("%d of %d entries begin with their messages", len(entries), headings)
	}
	placeholder := regexp.MustCompile(`<[a-zA-Z][a-zA-Z ]*>`)
	listed := map[string]*regexp.Regexp{}
	for _, entry := range entries {
		var forms []string
		for line := range strings.Lines(entry[2]) {
			message := strings.Trim(strings.TrimPrefix(line, "- "), "`\n")
			fixed := placeholder.Split(message, -1)
			for i := range fixed {
				fixed[i] = regexp.QuoteMeta(fixed[i])
			}
			forms = append(forms, strings.Join(fixed, ".+"))
		}
		listed[entry[1]] = regexp.MustCompile(`^(?:` + strings.Join(forms, "|") + `)(?:; .*)?$`)
	}
	return listed
}
