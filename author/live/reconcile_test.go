package live

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
)

// A request is answered once all rules have that have to, and one at least.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		expected expected
		answers  string
		done     bool
		silent   string
	}{
		"none yet":                {expected{must: []string{"a"}}, "", false, "a"},
		"the one that has to":     {expected{must: []string{"a"}}, "a", true, ""},
		"twice":                   {expected{must: []string{"a"}}, "a a", true, ""},
		"one of two":              {expected{must: []string{"a", "b"}}, "b", false, "a"},
		"both":                    {expected{must: []string{"a", "b"}}, "b a", true, ""},
		"one that only may":       {expected{must: []string{"a"}, may: []string{"m"}}, "m", false, "a"},
		"none of those that may":  {expected{may: []string{"m", "n"}}, "", false, ""},
		"one of those that may":   {expected{may: []string{"m", "n"}}, "n", true, ""},
		"one that nobody expects": {expected{may: []string{"m"}}, "x", false, ""},
	} {
		w := &waiting{of: make(map[types.UID]*asked)}
		a := w.ask("uid", "now", tt.expected)
		for rule := range strings.FieldsSeq(tt.answers) {
			for uid, value := range map[string]string{"uid": "now", "other": "now"} {
				event := &unstructured.Unstructured{}
				event.SetUnstructuredContent(map[string]any{
					"involvedObject": map[string]any{"uid": uid},
					"message":        conditions.Answer{Rule: rule, Request: value, Outcome: "Ready", Message: "m"}.String(),
				})
				if err := w.take("", event); err != nil {
					t.Fatal(err)
				}
			}
		}
		done := false
		select {
		case <-a.done:
			done = true
		default:
		}
		if _, silent := w.got(a); done != tt.done || strings.Join(silent, " ") != tt.silent {
			t.Errorf("%s: done %t, silent %q", name, done, silent)
		}
	}
}

// An answer to an earlier request is none.
func TestAnswerToAnother(t *testing.T) {
	t.Parallel()
	a := &asked{value: "now", done: make(chan struct{})}
	w := &waiting{of: map[types.UID]*asked{"uid": a}}
	event := &unstructured.Unstructured{Object: map[string]any{
		"involvedObject": map[string]any{"uid": "uid"},
		"message":        conditions.Answer{Rule: "a", Request: "before", Outcome: "Ready", Message: "m"}.String(),
	}}
	if err := w.take("", event); err != nil || len(a.answers) != 0 {
		t.Errorf("%v %v", err, a.answers)
	}
}

func TestDeletions(t *testing.T) {
	t.Parallel()
	held := &PruneBlock{
		Objects: []string{"Secret a/b", "Deployment.apps a/c", "Deployment.apps a/d", "Namespace n"}, More: []string{"7 Secret", "1 Service"},
	}
	if got, want := fmt.Sprint(Deletions(held)), "[{Secret 8} {Deployment.apps 2} {Namespace 1} {Service 1}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Who applies a field is told, and nobody else.
func TestWarnings(t *testing.T) {
	t.Parallel()
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{
		entry("gitops", "Apply", `{"f:metadata":{"f:annotations":{"f:kanon.dev/suspend":{}}}}`),
		entry("other", "Apply", `{"f:metadata":{"f:annotations":{}}}`),
		entry("kubectl-annotate", "Update", `{"f:metadata":{"f:annotations":{"f:kanon.dev/suspend":{}}}}`),
		entry(FieldManager, "Apply", `{"f:metadata":{"f:annotations":{"f:kanon.dev/suspend":{}}}}`),
	}}}}
	got := warnings(object, object, []string{"metadata", "annotations", "kanon.dev/suspend"})
	if len(got) != 1 || !strings.HasPrefix(got[0], "gitops applies metadata.annotations.kanon.dev/suspend ") {
		t.Errorf("%q", got)
	}
}

func entry(manager, operation, fields string) map[string]any {
	var tree map[string]any
	if err := json.Unmarshal([]byte(fields), &tree); err != nil {
		panic(err)
	}
	return map[string]any{"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": tree}
}
