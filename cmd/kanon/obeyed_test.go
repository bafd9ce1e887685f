package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
)

const testdata = "../../rules/testdata"

// unobeyed are codes that no author can cause with a rule of a sensible size, those that only count others, and those that depend on the
// objects of a cluster.
var unobeyed = []diagnostic.Code{
	diagnostic.CodeEnvironment, diagnostic.CodeMoreErrors, diagnostic.CodeMoreWarnings, diagnostic.CodeTooManyDocs, diagnostic.CodeHeldCRD, diagnostic.CodeTooManyRules,
}

// Obeying what a finding says gives a rule without it and without errors. Where the way out is mechanical, the finding has a fix,
// which package rules tests. For every other code, and each of which rules/testdata has a hint without a fix, rules/testdata/obeyed has
// what an obedient author writes:
//
//	rule.yaml         a rule with the finding
//	confined          the namespace to which the rule is confined, if it is
//	findings          what is found, with the hints (wanted; -update rewrites it)
//	obeyed.yaml       the rule as the author writes it then
//	crds.yaml, obeyed-crds.yaml   definitions, where they are not those of the other examples or the hint is about them
func TestHintsAreObeyed(t *testing.T) {
	t.Parallel()
	fixed, hinted := codesOfTestdata(t)
	covered := maps.Clone(fixed)
	paths, err := filepath.Glob(filepath.Join(testdata, "obeyed", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		code := diagnostic.Code(strings.TrimSuffix(filepath.Base(path), ".txtar")[:len("KN0000")])
		covered[code] = true
		delete(hinted, code)
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			checkObeyed(t, path, code)
		})
	}
	for code, example := range hinted {
		t.Errorf("rules/testdata/obeyed does not say what an author makes of a hint of %s that has no fix, such as %s", code, example)
	}
	for _, code := range unobeyed {
		if covered[code] {
			t.Errorf("%s can be obeyed", code)
		}
		covered[code] = true
	}
	for _, info := range diagnostic.Codes() {
		if !covered[info.Code] {
			t.Errorf("%s has no fix, and rules/testdata/obeyed does not say what an author does about it", info.Code)
		}
	}
	if diff := cmp.Diff(len(diagnostic.Codes()), len(slices.Collect(maps.Keys(covered)))); diff != "" {
		t.Errorf("codes that do not exist are covered: %s", diff)
	}
}

// codesOfTestdata are those of findings in rules/testdata that have a fix, and of those that have no more than a hint, with an example.
func codesOfTestdata(t *testing.T) (fixed map[diagnostic.Code]bool, hinted map[diagnostic.Code]string) {
	t.Helper()
	fixed, hinted = map[diagnostic.Code]bool{}, map[diagnostic.Code]string{}
	paths, err := filepath.Glob(filepath.Join(testdata, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		files := archive(t, path)
		for _, f := range found(t, files["rule.yaml"], files["crds.yaml"], files["confined"]) {
			switch {
			case f.Fix != nil:
				fixed[f.Code] = true
			case f.Hint != "":
				hinted[f.Code] = filepath.Base(path) + ": " + f.String()
			}
		}
	}
	return fixed, hinted
}

func archive(t *testing.T, path string) map[string]string {
	t.Helper()
	parsed, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range parsed.Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

// found is what is wrong with a rule.
func found(t *testing.T, rule, crds, confined string) diagnostic.Findings {
	t.Helper()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	if crds == "" {
		crds = parents
	}
	options := rules.Options{Namespace: engine.DefaultNamespace}
	if confined = strings.TrimSpace(confined); confined != "" {
		options = rules.Options{Namespace: confined, Confined: true}
	}
	checked, err := manifests.Check(t.Context(), []manifests.File{{Name: "rule.yaml", Data: []byte(rule)}},
		[]manifests.File{{Name: "crds.yaml", Data: []byte(crds)}}, kinds, options)
	if err != nil {
		t.Fatal(err)
	}
	return checked.Findings
}

func checkObeyed(t *testing.T, path string, code diagnostic.Code) {
	t.Helper()
	files := archive(t, path)
	var text strings.Builder
	has := func(findings diagnostic.Findings) bool {
		return slices.ContainsFunc(findings, func(f diagnostic.Finding) bool { return f.Code == code })
	}
	before := found(t, files["rule.yaml"], files["crds.yaml"], files["confined"])
	if !has(before) {
		t.Errorf("the rule has no finding %s", code)
	}
	for _, f := range before {
		text.WriteString(f.String() + "\n")
	}
	crds := files["obeyed-crds.yaml"]
	if crds == "" {
		crds = files["crds.yaml"]
	}
	after := found(t, files["obeyed.yaml"], crds, files["confined"])
	if files["obeyed.yaml"] == "" || has(after) || after.HasErrors() {
		t.Errorf("what an obedient author writes has findings: %v", after)
	}
	if *update {
		files["findings"] = text.String()
		writeArchive(t, path, files)
	}
	if diff := cmp.Diff(files["findings"], text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func writeArchive(t *testing.T, path string, files map[string]string) {
	t.Helper()
	parsed, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range parsed.Files {
		parsed.Files[i].Data = []byte(files[parsed.Files[i].Name])
	}
	if err := os.WriteFile(path, txtar.Format(parsed), 0o600); err != nil {
		t.Fatal(err)
	}
}
