package engine_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// jobsRule migrates with a Job before it makes a ConfigMap, and cleans up with one while the
// parent is being deleted. The test is the controller of both Jobs.
const jobsRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: jobs}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: migrate
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "${parent.metadata.name}-migrate"}
      spec:
        managedBy: example.com/test
        template: {spec: {restartPolicy: Never, containers: [{name: main, image: migrate}]}}
  - id: config
    dependsOn: [migrate]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
  finalize:
    children:
    - id: cleanup
      updatePolicy: CreateOnly
      template:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: "${parent.metadata.name}-cleanup"}
        spec:
          managedBy: example.com/test
          template: {spec: {restartPolicy: Never, containers: [{name: main, image: "${parent.spec.?image.orValue('cleanup')}"}]}}
`

// States of a Job, as its controller writes them.
const (
	jobRuns      = `{"status": {"startTime": "2026-03-05T05:00:00Z", "active": 1}}`
	jobCompletes = `{"status": {"active": 0, "succeeded": 1, "completionTime": "2026-03-05T05:01:00Z", "conditions": [
		{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}}`
	jobFails = `{"status": {"active": 0, "failed": 1, "conditions": [
		{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}]}}`
)

// job gives a Job a state, once the engine has made it.
func (w *world) job(name, state string) {
	w.t.Helper()
	w.await(jobs, w.home, name, "is made", exists)
	if err := w.merge(jobs, w.home, name, state, "status"); err != nil {
		w.t.Fatal(err)
	}
}

// Of several items, the condition is about the one that has failed, and not about the first that is not ready.
func TestFailedItemIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("jobs", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: jobs}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: job
    forEach: [{name: item, in: "${['a', 'b', 'c']}"}]
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "job-${item}"}
      spec:
        managedBy: example.com/test
        template: {spec: {restartPolicy: Never, containers: [{name: main, image: main}]}}
`)
	w.run()
	w.parent("Box", "red", "{}")
	w.job("job-a", jobRuns)
	w.job("job-b", jobRuns)
	w.job("job-b", jobFails)
	stalled := w.await(w.resource("Box"), w.home, "red", "is stalled", isTrue("Stalled"))
	if reason, message := conditionField(stalled, "Stalled", "reason"), conditionField(stalled, "Stalled", "message"); reason != "ChildFailed" ||
		!strings.Contains(message, "job-b") || strings.Contains(message, "job-a") {
		t.Errorf("the condition has reason %s and message %q, want the Job that has failed", reason, message)
	}
}

// A Job is awaited to its end: dependsOn and finalize do not go on while it runs, and not
// when it has failed.
func TestJobsAreAwaited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("jobs", jobsRule)
	w.run()
	boxes := w.resource("Box")
	w.parent("Box", "red", "{}")
	waits := func(what, reason string) {
		t.Helper()
		w.await(boxes, w.home, "red", "waits: "+what, func(obj *unstructured.Unstructured) bool {
			return conditionField(obj, "Ready", "reason") == reason && strings.Contains(conditionField(obj, "Ready", "message"), what)
		})
		w.quiet()
	}

	w.job("red-migrate", jobRuns)
	waits("Job in progress", "Progressing")
	if _, err := w.at(configMaps, w.home).Get(t.Context(), "red", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap was made while the Job that it depends on was running: %v", err)
	}
	w.job("red-migrate", jobFails)
	waits("Failed: Job Failed", "ChildFailed")
	if stalled := w.get(boxes, w.home, "red"); conditionStatus(stalled, "Stalled") != "True" {
		t.Error("a child that has failed does not stall the parent")
	}
	failed := w.uid(jobs, "red-migrate")
	w.delete(jobs, w.home, "red-migrate")
	w.await(jobs, w.home, "red-migrate", "is made again", another(failed))
	w.job("red-migrate", jobRuns)
	waits("Job in progress", "Progressing")
	w.job("red-migrate", jobCompletes)
	w.await(configMaps, w.home, "red", "is made when the Job is complete", exists)
	w.await(boxes, w.home, "red", "is ready", isTrue("Ready"))

	w.delete(boxes, w.home, "red")
	w.job("red-cleanup", jobRuns)
	waits("Job in progress", "Finalizing")
	w.job("red-cleanup", jobFails)
	waits("Failed: Job Failed", "Finalizing")
	if cleanup := w.get(jobs, w.home, "red-cleanup"); cleanup.GetDeletionTimestamp() != nil {
		t.Error("the cleanup was deleted before it was done")
	}
	if stalled := w.get(boxes, w.home, "red"); conditionStatus(stalled, "Stalled") != "True" {
		t.Error("a cleanup that has failed does not stall the parent")
	}

	// Another one in its place completes, and the parent goes, although it changed and its Job cannot.
	failed = w.uid(jobs, "red-cleanup")
	w.delete(jobs, w.home, "red-cleanup")
	w.await(jobs, w.home, "red-cleanup", "is made again", another(failed))
	w.job("red-cleanup", jobRuns)
	w.patch(boxes, w.home, "red", `{"spec":{"image":"another"}}`)
	w.job("red-cleanup", jobCompletes)
	w.awaitGone(boxes, w.home, "red")
	w.awaitGone(jobs, w.home, "red-migrate")
}

// What waits for a dependency is repaired while it does, if it is rendered as it was when it was last applied. A change of the
// rule or of the parent waits, and so does the creation of what was deleted.
func TestDriftIsRepairedDuringAWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box", "Task")
	w.rule("waits", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: waits}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: task
    readyWhen: ${self.?status.?done.orValue("") == parent.spec.v}
    template: {apiVersion: $GROUP/v1, kind: Task, metadata: {name: "${parent.metadata.name}"}}
  - id: config
    dependsOn: [task]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {v: "${parent.spec.v}"}
  - id: constant
    dependsOn: [task]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: constant}, data: {a: b}}
  - id: items
    dependsOn: [task]
    forEach: [{name: i, in: [one, two]}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "item-${i}"}, data: {a: "${i == 'one' ? 'b' : parent.spec.v}"}}
`)
	w.run()
	boxes, tasks := w.resource("Box"), w.resource("Task")
	w.parent("Box", "b", `{v: "1"}`)
	w.await(tasks, w.home, "b", "exists", exists)
	w.patchStatus(tasks, w.home, "b", `{"status":{"done":"1"}}`)
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	w.quiet()

	w.patch(boxes, w.home, "b", `{"spec":{"v":"2"}}`)
	waits := func(obj *unstructured.Unstructured) bool {
		return conditionGeneration(obj, "Ready") == obj.GetGeneration() && strings.Contains(conditionField(obj, "Ready", "message"), "waits for task")
	}
	w.await(boxes, w.home, "b", "waits", waits)
	for _, name := range []string{"constant", "item-one"} {
		w.patch(configMaps, w.home, name, `{"data":{"a":"edited"}}`)
		w.await(configMaps, w.home, name, "is repaired", has("b", "data", "a"))
	}
	w.patch(configMaps, w.home, "b", `{"data":{"v":"edited"}}`)
	w.delete(configMaps, w.home, "item-one")
	w.quiet()
	if got := field(w.get(configMaps, w.home, "b"), "data", "v"); got != "edited" {
		t.Errorf("data.v is %v: the version that is rendered now must wait, and the former one is not rendered any more", got)
	}
	if got := field(w.get(configMaps, w.home, "item-two"), "data", "a"); got != "1" {
		t.Errorf("data.a of an item is %v: its change must wait", got)
	}
	if _, err := w.at(configMaps, w.home).Get(t.Context(), "item-one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object was created before what it depends on was ready: %v", err)
	}
	w.await(boxes, w.home, "b", "waits", waits)

	w.patchStatus(tasks, w.home, "b", `{"status":{"done":"2"}}`)
	w.await(configMaps, w.home, "b", "has the new version", has("2", "data", "v"))
	w.await(configMaps, w.home, "item-two", "has the new version", has("2", "data", "a"))
	w.await(configMaps, w.home, "item-one", "is created", exists)
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
}

// While the migration to a new version runs, an object that keeps the version in the parent's status goes on with the old one
// and is repaired, as docs/reference/deletion.md shows, and a deleted Job is not run again. A cleanup that is given up after some time keeps nobody.
func TestMigrateBeforeAnUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("versions", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: versions}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  variables:
  - {name: migrated, value: "${children.?migrate.?status.?succeeded.orValue(0) > 0}"}
  - {name: v, value: "${variables.migrated ? parent.spec.v : parent.?status.?v.orValue('')}"}
  children:
  - id: migrate
    createWhen: ${parent.?status.?v.orValue("") != parent.spec.v}
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "migrate-${parent.spec.v}"}
      spec:
        managedBy: example.com/test # and not the Job controller
        template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:${parent.spec.v}"}]}}
  - id: config
    createWhen: ${variables.v != ""}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {v: "${variables.v}", size: "${parent.spec.size}"}
  status: {v: "${variables.v}"}
  finalize:
    children:
    - id: cleanup
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${parent.metadata.name}-cleanup"}
    until: ${children.cleanup.?data.?done.orValue("") == "yes" || now > timestamp(parent.metadata.deletionTimestamp) + duration("2s")}
`)
	w.run()
	boxes := w.resource("Box")
	w.parent("Box", "b", `{v: "1", size: s}`)
	w.job("migrate-1", jobRuns)
	w.quiet()
	if _, err := w.at(configMaps, w.home).Get(t.Context(), "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap was created before the migration was done: %v", err)
	}
	w.job("migrate-1", jobCompletes)
	w.await(configMaps, w.home, "b", "has the first version", has("1", "data", "v"))
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))

	w.patch(boxes, w.home, "b", `{"spec":{"v":"2","size":"m"}}`)
	w.job("migrate-2", jobRuns)
	w.awaitGone(jobs, w.home, "migrate-1")
	w.await(configMaps, w.home, "b", "follows the parent, with the old version", func(obj *unstructured.Unstructured) bool {
		return has("m", "data", "size")(obj) && has("1", "data", "v")(obj)
	})
	w.patch(configMaps, w.home, "b", `{"data":{"v":"edited"}}`)
	w.await(configMaps, w.home, "b", "is repaired", has("1", "data", "v"))
	w.job("migrate-2", jobCompletes)
	w.await(configMaps, w.home, "b", "has the second version", has("2", "data", "v"))
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))

	w.delete(jobs, w.home, "migrate-2")
	w.awaitGone(jobs, w.home, "migrate-2")
	w.patch(boxes, w.home, "b", `{"spec":{"size":"l"}}`)
	w.await(configMaps, w.home, "b", "follows the parent, with the second version", func(obj *unstructured.Unstructured) bool {
		return has("l", "data", "size")(obj) && has("2", "data", "v")(obj)
	})
	w.await(boxes, w.home, "b", "is ready", isTrue("Ready"))
	w.quiet()
	if _, err := w.at(jobs, w.home).Get(t.Context(), "migrate-2", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a migration that was done is run again because its Job was deleted: %v", err)
	}

	w.delete(boxes, w.home, "b")
	w.awaitGone(boxes, w.home, "b")
}
