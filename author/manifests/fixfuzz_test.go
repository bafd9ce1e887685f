package manifests

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
)

// FuzzFix holds that fixes leave fewer findings and none that was not there before, and change only lines with findings.
func FuzzFix(f *testing.F) {
	kinds, err := BuiltinKinds()
	if err != nil {
		f.Fatal(err)
	}
	paths, err := filepath.Glob("../../rules/testdata/wrong-*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		text := txtar.Parse(data).Files[0].Data
		habits := []string{"=>", "=", `["x"]`, "string[]", "!==", "'", "$", "}", "- ", "?."}
		f.Add(string(text), len(text)*(1+i%9)/10, habits[i%len(habits)])
	}
	check := func(files []File) (*Checked, error) {
		return Check(context.Background(), files, nil, kinds, rules.Options{Namespace: engine.DefaultNamespace})
	}
	f.Fuzz(func(t *testing.T, text string, at int, habit string) {
		if at < 0 || at > len(text) {
			t.Skip()
		}
		files := []File{{Name: "r.yaml", Data: []byte(text[:at] + habit + text[at:])}}
		before, err := check(files)
		if err != nil {
			t.Skip(err)
		}
		fixed, err := Fix(files, check)
		if err != nil {
			t.Fatal(err)
		}
		if n, m := len(before.Findings), len(fixed.Left.Findings); m > n-min(1, len(fixed.Done)) {
			t.Errorf("%d findings became %d by %d fixes", n, m, len(fixed.Done))
		}
		places := map[int]bool{}
		for _, finding := range before.Findings {
			places[finding.Line] = true
			if finding.Fix != nil {
				for _, edit := range finding.Fix.Edits {
					places[edit.Line] = true
				}
			}
		}
		was, is := strings.Split(string(files[0].Data), "\n"), strings.Split(string(fixed.Files[0].Data), "\n")
		for i := range was {
			if len(is) != len(was) || is[i] != was[i] && !places[i+1] {
				t.Fatalf("line %d has no finding, and became %q", i+1, is[min(i, len(is)-1)])
			}
		}
		isNew := func(f diagnostic.Finding) bool {
			for _, b := range before.Findings {
				if b.Code == f.Code && b.Message == f.Message {
					return false
				}
			}
			return f.Count() == 1
		}
		for _, finding := range fixed.Left.Findings {
			if isNew(finding) && len(before.Findings) < 100 {
				t.Errorf("a fix has made this wrong: %s", finding)
			}
		}
	})
}
