package kanontest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// Example is a folder with a rule and a scenario.
type Example struct {
	Name string // of the folder
	Path string // of the rule
	Rule string // its text
	// Kinds are the CustomResourceDefinitions that the example needs, for an administrator to apply.
	Kinds    []*unstructured.Unstructured
	Scenario *Scenario
}

// Examples reads the examples in the folders below dir.
func Examples(tb testing.TB, dir string) []Example {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "rule.yaml"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("found the rules %q: %v", paths, err)
	}
	var all []Example
	for _, path := range paths {
		folder := filepath.Dir(path)
		rule, err1 := os.ReadFile(path)
		scenario, err2 := ReadScenario(folder)
		if err := errors.Join(err1, err2); err != nil {
			tb.Fatal(err)
		}
		docs, _ := syntax.Decode(path, rule)
		rules.Inference{Schemas: openapi.Builtin{}}.Infer(&docs)
		e := Example{Name: filepath.Base(folder), Path: path, Rule: string(rule), Kinds: docs.CRDs, Scenario: scenario}
		if definitions := filepath.Join(folder, "crd.yaml"); isFile(definitions) {
			e.Kinds = append(e.Kinds, ReadManifest(tb, definitions)...)
		}
		all = append(all, e)
	}
	return all
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// LeastRights returns the rights that the rules of examples need, as `kanon rbac` prints them with these flags, for the
// ServiceAccount of deploy/base. It adds a right that the example crd-roles needs, and that `kanon rbac` leaves to an
// administrator.
func LeastRights(tb testing.TB, examples []Example, flags ...string) []*unstructured.Unstructured {
	tb.Helper()
	args := append([]string{"rbac", "--name", "kanon-examples"}, flags...)
	for _, e := range examples {
		args = append(args, e.Path)
	}
	command := exec.CommandContext(tb.Context(), Binary(tb), args...)
	var stderr strings.Builder
	command.Stderr = &stderr
	roles, err := command.Output()
	if err != nil {
		tb.Fatalf("kanon rbac: %v\n%s", err, stderr.String())
	}
	return append(Objects(tb, "kanon rbac", roles), Objects(tb, "what the role of crd-roles grants", []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kanon-examples-escalate}
rules:
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [escalate]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kanon-examples-escalate}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kanon-examples-escalate}
subjects: [{kind: ServiceAccount, name: kanon, namespace: kanon-system}]
`))...)
}

// PlayAll plays examples, several at a time, because each of them mostly waits. It does so however many tests run in
// parallel. Each is a subtest. place returns the cluster for an example.
func PlayAll(t *testing.T, examples []Example, place func(t *testing.T, e Example) *Cluster) {
	t.Helper()
	const atATime = 8
	queue := make(chan Example)
	var players sync.WaitGroup
	for range atATime {
		players.Go(func() {
			for e := range queue {
				t.Run(e.Name, func(t *testing.T) { e.Scenario.Play(place(t, e)) })
			}
		})
	}
	for _, e := range examples {
		queue <- e
	}
	close(queue)
	players.Wait()
}
