package manifests

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/diagnostic"
)

func examples() diagnostic.Findings {
	return diagnostic.Findings{
		{
			Position: diagnostic.Position{File: "rules/my rule.yaml", Line: 3, Column: 7}, Severity: diagnostic.SeverityError,
			Length: 5, Related: []diagnostic.Related{{Position: diagnostic.Position{File: "other.yaml", Line: 9, Column: 2}, Label: "that one"}},
			Code: diagnostic.CodeUnknownName, Message: "unknown name \"parnt\", 100%\nwrong", Hint: `did you mean "parent"?`, Text: `  a: "${parnt}"`,
			Fix: &diagnostic.Fix{Title: `replace "parnt" with "parent"`, Edits: []diagnostic.Edit{{Position: diagnostic.Position{File: "rules/my rule.yaml", Line: 3, Column: 7}, Old: "parnt", New: "parent"}}},
		},
		{
			Position: diagnostic.Position{File: "rule/kanon-system/web", Path: "spec.children[1]"}, Severity: diagnostic.SeverityWarning,
			Code: diagnostic.CodeNoSchema, Message: "<no schema>",
		},
	}
}

func write(t *testing.T, r Report, format ReportFormat) string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJSON(t *testing.T) {
	t.Parallel()
	const want = `[
  {
    "file": "rules/my rule.yaml",
    "line": 3,
    "column": 7,
    "severity": "error",
    "code": "KN0204",
    "message": "unknown name \"parnt\", 100%\nwrong",
    "hint": "did you mean \"parent\"?",
    "fix": {
      "title": "replace \"parnt\" with \"parent\"",
      "edits": [
        {
          "file": "rules/my rule.yaml",
          "line": 3,
          "column": 7,
          "old": "parnt",
          "new": "parent"
        }
      ]
    },
    "length": 5,
    "related": [
      {
        "file": "other.yaml",
        "line": 9,
        "column": 2,
        "label": "that one"
      }
    ],
    "title": "An unknown name",
    "docs": "docs/reference/findings/names.md#kn0204-an-unknown-name"
  },
  {
    "file": "rule/kanon-system/web",
    "path": "spec.children[1]",
    "severity": "warning",
    "code": "KN0440",
    "message": "<no schema>",
    "title": "A kind without a schema",
    "docs": "docs/reference/findings/templates.md#kn0440-a-kind-without-a-schema"
  }
]
`
	if diff := cmp.Diff(want, write(t, Report{Findings: examples(), Summary: "2"}, ReportJSON)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := write(t, Report{}, ReportJSON); got != "[]\n" {
		t.Errorf("no findings are %q", got)
	}
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	findings := examples()
	findings[0].File = "a,b:c.yaml"
	const want = `::error file=a%2Cb%3Ac.yaml,line=3,col=7,title=KN0204%3A An unknown name::unknown name "parnt", 100%25%0Awrong%0Adid you mean "parent"?%0Aother.yaml:9:2: that one
::warning file=rule/kanon-system/web,title=KN0440%3A A kind without a schema::<no schema>
2 findings
`
	if diff := cmp.Diff(want, write(t, Report{Findings: findings, Summary: "2 findings"}, ReportGitHub)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sarifProperties are the properties that the schema of SARIF 2.1.0 has for the parts of a log that are written here. Those
// with ! are required; no part may have others.
func sarifProperties() map[string][]string {
	return map[string][]string{
		"":                            {"$schema", "version!", "runs!"},
		"runs":                        {"tool!", "columnKind", "results"},
		"runs.tool":                   {"driver!"},
		"runs.tool.driver":            {"name!", "version", "rules"},
		"runs.tool.driver.rules":      {"id!", "shortDescription", "help", "defaultConfiguration"},
		"runs.tool.driver.rules.help": {"text!", "markdown"},
		"runs.tool.driver.rules.shortDescription":     {"text!", "markdown"},
		"runs.tool.driver.rules.defaultConfiguration": {"level"},
		"runs.results":                                                    {"ruleId", "ruleIndex", "level", "message!", "locations", "relatedLocations", "fixes"},
		"runs.results.fixes":                                              {"description", "artifactChanges!"},
		"runs.results.fixes.description":                                  {"text!"},
		"runs.results.fixes.artifactChanges":                              {"artifactLocation!", "replacements!"},
		"runs.results.fixes.artifactChanges.artifactLocation":             {"uri!"},
		"runs.results.fixes.artifactChanges.replacements":                 {"deletedRegion!", "insertedContent"},
		"runs.results.fixes.artifactChanges.replacements.deletedRegion":   {"startLine!", "startColumn", "endColumn"},
		"runs.results.fixes.artifactChanges.replacements.insertedContent": {"text!"},
		"runs.results.message":                                            {"text!", "markdown"},
		"runs.results.locations":                                          {"physicalLocation", "logicalLocations", "message"},
		"runs.results.locations.message":                                  {"text!"},
		"runs.results.locations.logicalLocations":                         {"fullyQualifiedName"},
		"runs.results.locations.physicalLocation":                         {"artifactLocation!", "region"},
		"runs.results.locations.physicalLocation.region":                  {"startLine!", "startColumn", "endColumn", "snippet"},
		"runs.results.locations.physicalLocation.artifactLocation":        {"uri!"},
		"runs.results.locations.physicalLocation.region.snippet":          {"text!"},
	}
}

// checkSARIF walks a log by the table above. Related locations are locations.
func checkSARIF(t *testing.T, path string, value any) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			checkSARIF(t, path, item)
		}
	case map[string]any:
		known, ok := sarifProperties()[strings.ReplaceAll(path, "relatedLocations", "locations")]
		if !ok {
			t.Errorf("%s: not in the table", path)
		}
		for _, name := range known {
			plain, required := strings.CutSuffix(name, "!")
			if _, has := value[plain]; required && !has {
				t.Errorf("%s lacks %s: %v", path, plain, value)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !slices.Contains(known, name) && !slices.Contains(known, name+"!") {
				t.Errorf("%s has %s", path, name)
			}
			checkSARIF(t, strings.TrimPrefix(path+"."+name, "."), value[name])
		}
	}
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	for name, findings := range map[string]diagnostic.Findings{"findings": examples(), "none": nil} {
		text := write(t, Report{Findings: findings, Version: "v1"}, ReportSARIF)
		var log any
		if err := json.Unmarshal([]byte(text), &log); err != nil {
			t.Fatal(err)
		}
		checkSARIF(t, "", log)
		if strings.Contains(text, "null") {
			t.Errorf("%s: null in %s", name, text)
		}
	}
}

func TestSARIFContent(t *testing.T) {
	t.Parallel()
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Version string
					Rules   []struct {
						ID                   string
						Help                 struct{ Text string }
						DefaultConfiguration struct{ Level string }
					}
				}
			}
			Results []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(write(t, Report{Findings: examples(), Version: "v1"}, ReportSARIF)), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Version != "v1" {
		t.Errorf("%+v", log)
	}
	run := log.Runs[0]
	if len(run.Tool.Driver.Rules) != len(diagnostic.Codes()) {
		t.Errorf("%d rules", len(run.Tool.Driver.Rules))
	}
	for _, r := range run.Results {
		rule := run.Tool.Driver.Rules[int(r["ruleIndex"].(float64))]
		if rule.ID != r["ruleId"] || rule.Help.Text == "" || rule.DefaultConfiguration.Level != r["level"] {
			t.Errorf("the rule of %v is %+v", r["ruleId"], rule)
		}
		delete(r, "ruleIndex")
	}
	got, err := json.Marshal(run.Results)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"fixes":[{"artifactChanges":[{"artifactLocation":{"uri":"rules/my%20rule.yaml"},"replacements":[{"deletedRegion":` +
		`{"endColumn":12,"startColumn":7,"startLine":3},"insertedContent":{"text":"parent"}}]}],"description":{"text":"replace \"parnt\" with \"parent\""}}],` +
		`"level":"error","locations":[{"physicalLocation":{"artifactLocation":{"uri":"rules/my%20rule.yaml"},"region":{"endColumn":12,"snippet":` +
		`{"text":"  a: \"${parnt}\""},"startColumn":7,"startLine":3}}}],"message":{"text":"unknown name \"parnt\", 100%\nwrong\ndid you mean \"parent\"?"},` +
		`"relatedLocations":[{"message":{"text":"that one"},"physicalLocation":{"artifactLocation":{"uri":"other.yaml"},"region":{"startColumn":2,"startLine":9}}}],` +
		`"ruleId":"KN0204"},{"level":"warning","locations":[{"logicalLocations":[{"fullyQualifiedName":"spec.children[1]"}],` +
		`"physicalLocation":{"artifactLocation":{"uri":"rule/kanon-system/web"}}}],"message":{"text":"\u003cno schema\u003e"},"ruleId":"KN0440"}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFileURI(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"a/b.yaml": "a/b.yaml", "/a b.yaml": "file:///a%20b.yaml", "../a#1.yaml": "../a%231.yaml", "a:b.yaml": "./a:b.yaml",
	} {
		if got := fileURI(file); got != want {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	got := write(t, Report{Findings: examples()[1:], Summary: "1 warning"}, ReportText)
	if want := "rule/kanon-system/web: spec.children[1]: warning: <no schema> [KN0440]\n1 warning\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := (Report{}).Write(&strings.Builder{}, "xml"); err == nil {
		t.Error("there is no format xml")
	}
}
