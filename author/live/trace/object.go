package trace

import (
	"fmt"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/readiness"
)

// judge derives the state of a node from the status of its object. awaitsStatus is that of readiness.Of.
func (n *Node) judge(object *unstructured.Unstructured, awaitsStatus bool) {
	if n.terminating(object) {
		return
	}
	result, err := readiness.Of(object, awaitsStatus)
	switch {
	case err != nil:
		n.State = Unknown
		n.note(FromStatus, "", "its status cannot be understood: "+err.Error())
		return
	case result.Status == status.CurrentStatus:
		n.State = Ready
		return
	case result.Status == status.FailedStatus:
		n.State = Failed
	default:
		n.State = NotReady
	}
	n.note(FromStatus, "", result.Message)
	n.containers(object)
}

// terminating sets the state of an object that is being deleted, and notes its finalizers. It returns false if the
// object is not being deleted.
func (n *Node) terminating(object *unstructured.Unstructured) bool {
	since := object.GetDeletionTimestamp()
	if since == nil {
		return false
	}
	n.State = Terminating
	var waits []string
	for _, finalizer := range object.GetFinalizers() {
		if finalizer == metav1.FinalizerDeleteDependents {
			finalizer += " (the objects that it owns are deleted first)"
		}
		waits = append(waits, finalizer)
	}
	if len(waits) > 0 {
		n.Notes = append(n.Notes, Note{Source: FromStatus, Text: "waits for finalizers: " + strings.Join(waits, ", "), Since: since.UTC()})
	}
	return true
}

// containers notes why the containers of a Pod do not run.
func (n *Node) containers(pod *unstructured.Unstructured) {
	if n.Kind != "Pod" || n.APIVersion != "v1" {
		return
	}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "status", field)
		for _, item := range containers {
			fields, _ := item.(map[string]any)
			container := &unstructured.Unstructured{Object: fields}
			at := func(path ...string) string {
				text, _, _ := unstructured.NestedString(container.Object, path...)
				return text
			}
			why := at("state", "waiting", "reason")
			if message := at("state", "waiting", "message"); message != "" {
				why += ": " + message
			}
			if why == "" || why == "ContainerCreating" || why == "PodInitializing" {
				continue // every container starts this way
			}
			if code, ended, _ := unstructured.NestedInt64(container.Object, "lastState", "terminated", "exitCode"); ended {
				why += fmt.Sprintf("; it ended before with exit code %d (%s)", code, at("lastState", "terminated", "reason"))
			}
			n.note(FromStatus, "container "+at("name"), why)
		}
	}
}
