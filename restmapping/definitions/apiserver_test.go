package definitions_test

import (
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules/shortschema"
	"kanon.dev/kanon/rules/syntax"
)

// warnings collects what an API server warns of.
type warnings struct {
	mu   sync.Mutex
	seen []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// TestNoWarnings: an API server creates the definition of each type with each marker that the short form takes, and warns of nothing.
func TestNoWarnings(t *testing.T) {
	t.Parallel()
	seen := &warnings{}
	config := rest.CopyConfig(controlplanetest.Config(t))
	config.WarningHandler, config.QPS = seen, -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, typ := range shortschema.Types() {
		for _, of := range []string{typ.Name, "[]" + typ.Name, "map[string]" + typ.Name} {
			fields := []string{"f: '" + of + "'"}
			for _, m := range shortschema.Markers() {
				marker := m.Name
				if m.Value != "" {
					marker += "=" + m.Value
				}
				fields = append(fields, "f: '"+of+" | "+marker+"'")
			}
			for _, field := range fields {
				docs, findings := syntax.Decode("rule.yaml", []byte("{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: example}, spec: {parent: {apiVersion: example.com/v1, kind: Thing, schema: {spec: {"+field+"}}}}}"))
				if findings.HasErrors() || len(definitions.Check(t.Context(), docs.CRDs[0])) > 0 {
					continue
				}
				made++
				_, err := client.Resource(definitions.GVR()).Create(t.Context(), docs.CRDs[0], metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
				if err != nil {
					t.Errorf("%s: %v", field, err)
				}
				if warned := seen.take(); len(warned) > 0 {
					t.Errorf("%s: the API server warns: %s", field, strings.Join(warned, "; "))
				}
			}
		}
	}
	if made < 500 {
		t.Errorf("only %d definitions were made", made)
	}
}
