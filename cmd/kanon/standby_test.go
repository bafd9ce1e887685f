package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

const standbyRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: standby}
spec:
  parent:
    apiVersion: v1
    kind: ConfigMap
    selector: {matchLabels: {script: standby}}
  children:
    - id: child
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${parent.metadata.name}-child"}
        data: {value: "${parent.data.value}"}
`

// standbyParents is how many parents there are.
const standbyParents = 40

// Of three Kanons one writes. Another one takes over from it when it is killed among its writes, and when it is stopped for longer than its Lease; and
// when it goes on then, it sends no write and ends. Nothing is lost and nothing is written twice: every write of every child is counted.
func TestStandby(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.log")
	plane := controlplanetest.Start(t, controlplanetest.Options{AuditLog: audit, Controllers: []string{"namespace"}, Nodes: new(int)})
	namespace := controlplanetest.Namespace(t, plane.Config)
	cluster := kanontest.NewCluster(t, plane.Config).In(t, namespace)
	rule := filepath.Join(t.TempDir(), "rule.yaml")
	if err := os.WriteFile(rule, []byte(standbyRule), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *kanontest.Process {
		t.Helper()
		return startStandby(t, "--kubeconfig", plane.Kubeconfig, "--kanon-namespace", namespace, "--rules", rule)
	}
	set := func(value string) {
		t.Helper()
		for i := range standbyParents {
			cluster.Apply(kanontest.Object(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: p%d, labels: {script: standby}}, data: {value: %s}}", i, value)))
		}
	}
	await := func(value string) {
		t.Helper()
		for i := range standbyParents {
			cluster.Await(kanontest.Ref("v1", "ConfigMap", fmt.Sprintf("p%d-child", i)), func(live *unstructured.Unstructured) error {
				if got, _, _ := unstructured.NestedString(live.Object, "data", "value"); got != value {
					return fmt.Errorf("its value is %q, want %q", got, value)
				}
				return nil
			})
		}
	}

	underWay := func(value string) {
		t.Helper()
		cluster.Await(kanontest.Ref("v1", "ConfigMap", "p3-child"), func(live *unstructured.Unstructured) error {
			if got, _, _ := unstructured.NestedString(live.Object, "data", "value"); got != value {
				return errors.New("nothing is under way")
			}
			return nil
		})
	}

	first := start()
	awaitLine(t, first, "This Kanon leads")
	second := start()
	awaitLine(t, second, "Another Kanon leads; this one stands by")
	set("one")
	await("one")
	awaitReady(t, second)
	go set("two")
	underWay("two")
	if err := first.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitLine(t, second, "This Kanon leads")
	await("two")

	third := start()
	awaitLine(t, third, "Another Kanon leads; this one stands by")
	awaitReady(t, third)
	go set("three")
	underWay("three")
	if err := second.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitLine(t, third, "This Kanon leads")
	await("three")
	if err := second.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	exit := new(exec.ExitError)
	if err := second.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(second.Log(), "does not lead any more") {
		t.Errorf("the one that was stopped ends with %v; its log is\n%s", err, second.Log())
	}
	if err := third.Stop(); err != nil {
		t.Error(err)
	}
	for child, writes := range countWrites(t, audit, namespace) {
		if writes != 3 {
			t.Errorf("%s was written %d times, want 3", child, writes)
		}
	}
}

// startStandby runs kanon as one of several. Its Lease lasts as long as a renewal may take on a machine that is busy with other tests:
// one that is late for want of a processor would end the Kanon that the test is about.
func startStandby(tb testing.TB, args ...string) *kanontest.Process {
	tb.Helper()
	run := append([]string{
		"run", "--health-probe-bind-address=127.0.0.1:0", "--leader-elect", "--leader-elect-lease-duration=12s",
		"--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=500ms",
	}, args...)
	process, err := kanontest.Launch(exec.Command(linkKanon(tb), kanontest.WithoutPorts(run)...)) //nolint:noctx // ended below
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = process.Signal(syscall.SIGCONT)
		_ = process.Signal(syscall.SIGKILL)
		_ = process.Wait()
		if tb.Failed() {
			tb.Logf("the log of a kanon:\n%s", process.Log())
		}
	})
	return process
}

func awaitLine(tb testing.TB, process *kanontest.Process, text string) {
	tb.Helper()
	if _, err := process.AwaitLog(regexp.MustCompile(regexp.QuoteMeta(text))); err != nil {
		tb.Fatal(err)
	}
}

// awaitReady waits until a kanon has all in memory that it needs to take over.
func awaitReady(tb testing.TB, process *kanontest.Process) {
	tb.Helper()
	again := time.NewTicker(fetchPause)
	defer again.Stop()
	for deadline := time.Now().Add(fetchPatience); ; <-again.C {
		code, body := process.Fetch(tb, "health", "/readyz?verbose", "")
		if code == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("it is never ready:\n%s", body)
		}
	}
}

// countWrites counts the requests that changed each child in a namespace. One that the API server refused changed nothing: a request
// that was under way when its sender was stopped may come late, and says which version of the child it is for.
func countWrites(t *testing.T, audit, namespace string) map[string]int {
	t.Helper()
	file, err := os.Open(audit) //nolint:gosec // the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	writes := make(map[string]int)
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("decode %s: %v", line, err)
		}
		o := event.ObjectRef
		if o == nil || o.Resource != "configmaps" || o.Namespace != namespace || event.Stage != auditv1.StageResponseComplete {
			continue
		}
		if event.ResponseStatus == nil || event.ResponseStatus.Code >= http.StatusBadRequest {
			continue
		}
		name := o.Name
		if strings.HasSuffix(name, "-child") && event.Verb != "get" && event.Verb != "list" && event.Verb != "watch" {
			writes[name]++
		}
	}
	if len(writes) != standbyParents {
		t.Fatalf("%d children were written, want %d", len(writes), standbyParents)
	}
	return writes
}
