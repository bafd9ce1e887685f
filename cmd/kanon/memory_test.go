package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// A reconcile of largeRule holds 40 texts of almost a megabyte each while it writes the children. The texts are made by
// doubling a name of 14 characters 16 times.
func largeRule() string {
	var doublings strings.Builder
	for i := range 16 {
		fmt.Fprintf(&doublings, "  - {name: v%d, value: \"${variables.v%d + variables.v%d}\"}\n", i+1, i, i)
	}
	return `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: large}
spec:
  parent: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {script: large}}}
  variables:
  - {name: v0, value: "${parent.metadata.name + '-123456789'}"}
` + doublings.String() + `
  children:
  - id: items
    forEach: [{name: i, in: "${lists.range(40)}"}]
    variables: [{name: text, value: "${variables.v16 + string(i)}"}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-${i}"}
      data: {size: "${string(variables.text.size())}"}
`
}

// heapPattern matches a line of GODEBUG=gctrace=1. Its number is the size of the heap in MiB when a collection ends,
// which is the largest size since the last one.
var heapPattern = regexp.MustCompile(`(?m)^gc .* \d+->(\d+)->\d+ MB, `)

// A process stays below its GOMEMLIMIT, although the evaluations that run at the same time would need more than twice
// as much. The limit is a soft one: on a busy machine, a collection may end a little above it.
func TestMemoryLimit(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	const limit, most, parents = 256, 300, 20
	config := controlplanetest.Config(t)
	namespace := controlplanetest.Namespace(t, config)
	cluster := kanontest.NewCluster(t, config).In(t, namespace)
	for i := range parents {
		cluster.Apply(kanontest.Object(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: p-%02d, labels: {script: large}}}", i)))
	}
	rule := filepath.Join(t.TempDir(), "rule.yaml")
	if err := os.WriteFile(rule, []byte(largeRule()), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(linkKanon(t), kanontest.WithoutPorts([]string{ //nolint:noctx // ended below
		"run", "--kubeconfig", controlplanetest.Kubeconfig(t), "--kanon-namespace", namespace, "--rules", rule,
	})...)
	run.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%dMiB", limit), "GODEBUG=gctrace=1")
	process, err := kanontest.Launch(run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Signal(syscall.SIGKILL)
		_ = process.Wait()
	})
	for i := range parents {
		for _, child := range []int{0, 39} {
			cluster.Await(kanontest.Ref("v1", "ConfigMap", fmt.Sprintf("p-%02d-%d", i, child)), func(*unstructured.Unstructured) error { return nil })
		}
	}
	largest, collections := 0, heapPattern.FindAllStringSubmatch(process.Log(), -1)
	for _, collection := range collections {
		size, err := strconv.Atoi(collection[1])
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, size)
	}
	if len(collections) == 0 || largest > most {
		t.Errorf("in %d collections, the heap had up to %d MiB; the limit is %d MiB", len(collections), largest, limit)
	}
}
