package rules_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Every line of testdata/functions is an expression and what it gives. They
// hold the language to what the libraries document.
func TestFunctionData(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/functions/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for expr, want := range functionCases(t, data) {
				if diff := cmp.Diff(want, evaluateText(t, expr)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", expr, diff)
				}
			}
		})
	}
}

// functionCases reads lines of "expression => JSON". An expression may go over
// several lines.
func functionCases(t *testing.T, data []byte) map[string]result {
	t.Helper()
	cases := map[string]result{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	pending := ""
	for lines.Scan() {
		line := lines.Text()
		if pending == "" && (line == "" || strings.HasPrefix(line, "# ")) {
			continue
		}
		pending += line
		i := strings.LastIndex(pending, " => ")
		if i < 0 {
			pending += "\n"
			continue
		}
		expr, want := pending[:i], pending[i+len(" => "):]
		pending = ""
		if _, twice := cases[expr]; twice {
			t.Errorf("%s stands there twice", expr)
		}
		cases[expr] = wantedResult(t, want)
	}
	if err := lines.Err(); err != nil || pending != "" {
		t.Fatalf("%v: %q is not done", err, pending)
	}
	return cases
}

// result is what an expression gives: JSON, or an error.
type result struct {
	JSON  any
	Error string
}

// Equal says whether one is what the other wants: an error need only have the
// text that is wanted.
func (r result) Equal(other result) bool {
	if (r.Error == "") != (other.Error == "") {
		return false
	}
	if r.Error != "" {
		return strings.Contains(r.Error, other.Error) || strings.Contains(other.Error, r.Error)
	}
	return cmp.Equal(r.JSON, other.JSON)
}

func wantedResult(t *testing.T, text string) result {
	t.Helper()
	if message, ok := strings.CutPrefix(text, "error:"); ok {
		return result{Error: " " + strings.TrimSpace(message)}
	}
	return result{JSON: asJSON(t, text)}
}

func asJSON(t *testing.T, text string) any {
	t.Helper()
	var val any
	if err := json.Unmarshal([]byte(text), &val); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return val
}

// evaluateText runs an expression as the one leaf of a rule's status. What it
// does not compile to is an error as well.
func evaluateText(t *testing.T, expr string) result {
	t.Helper()
	quoted, err := json.Marshal("${" + expr + "}")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"apiVersion": "kanon.dev/v1alpha1", "kind": "Rule", "metadata": {"name": "r"}, "spec": {`+
		`"parent": {"apiVersion": "shop.example.com/v1", "kind": "WebApp"}, "status": {"out": [%s]}}}`, quoted)
	docs, findings := syntax.Decode("r.yaml", []byte(text))
	if findings.HasErrors() {
		t.Fatalf("%s: %v", expr, findings)
	}
	compiled, findings := rules.Compile(docs.Rules[0], rules.Options{})
	if compiled == nil {
		return result{Error: fmt.Sprintf(" %s", findings)}
	}
	parent := &unstructured.Unstructured{Object: asJSON(t, functionParent).(map[string]any)}
	out := compiled.Evaluate(t.Context(), program.Input{Parent: parent, Now: time.Date(2026, 3, 5, 6, 7, 8, 9, time.UTC)}).Result()
	switch {
	case len(out.StatusFailed) > 0:
		return result{Error: " " + out.StatusFailed[0].Message}
	case len(out.StatusWaiting) > 0:
		return result{Error: " " + out.StatusWaiting[0]}
	}
	list, _ := out.Status["out"].([]any)
	if len(list) == 0 {
		return result{Error: " nothing"}
	}
	plain, err := json.Marshal(list[0])
	if err != nil {
		t.Fatal(err)
	}
	return result{JSON: asJSON(t, string(plain))}
}

const functionParent = `{"apiVersion": "shop.example.com/v1", "kind": "WebApp",
"metadata": {"name": "shop", "namespace": "team-a", "creationTimestamp": "2026-03-05T05:00:00Z", "labels": {"tier": "web"}},
"spec": {"replicas": 2, "image": "nginx:1.29", "ports": [80, 443], "options": {"debug": true}}}`
