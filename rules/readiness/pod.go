package readiness

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A Pod with the restartPolicy Never or OnFailure runs to completion: it is current once it has succeeded. Any other Pod is
// current while it is ready. For kstatus, a failed Pod is current as well.

// endedPod handles the phases of a Pod that has ended, or that kstatus does not know.
func endedPod(obj *unstructured.Unstructured) (Result, bool) {
	gvk := obj.GroupVersionKind()
	if gvk.Group != "" || gvk.Kind != "Pod" || obj.GetDeletionTimestamp() != nil {
		return Result{}, false
	}
	switch status.GetStringField(obj.Object, "status.phase", "") {
	case "Failed":
		result := because(failed("Pod has failed"), reasonAndMessage(obj.Object["status"]), failedContainer(obj))
		return result, true
	case "Succeeded":
		if !completes(obj) {
			return failed("Pod has ended, and its restartPolicy is Always"), true
		}
	case "Unknown":
		return inProgress("nothing is known of the Pod: its node does not answer"), true
	}
	return Result{}, false
}

// pod corrects what kstatus reports for a Pod that has not ended.
func pod(obj *unstructured.Unstructured, result Result) Result {
	switch phase := status.GetStringField(obj.Object, "status.phase", ""); {
	case result.Status == status.TerminatingStatus:
		return result
	case phase == "Pending":
		// kstatus compares with the clock and calls the Pod failed after 15 seconds, but an autoscaler may take longer
		// to add a node.
		if c := condition(obj, "PodScheduled"); c != nil && c["status"] == "False" {
			message, _ := c["message"].(string)
			return because(inProgress("Pod is not scheduled"), message)
		}
		return inProgress("Pod is pending")
	case phase == "Running" && completes(obj) && result.Status == status.CurrentStatus:
		return inProgress("Pod is running, and is ready when it has succeeded: its restartPolicy is %s", status.GetStringField(obj.Object, "spec.restartPolicy", ""))
	}
	return result
}

// failedContainer says how the first failed container ended.
func failedContainer(obj *unstructured.Unstructured) string {
	fields, _ := obj.Object["status"].(map[string]any)
	for _, kind := range []string{"initContainerStatuses", "containerStatuses"} {
		all, _ := fields[kind].([]any)
		for _, item := range all {
			container := &unstructured.Unstructured{}
			container.Object, _ = item.(map[string]any)
			if code := status.GetIntField(container.Object, "state.terminated.exitCode", 0); code != 0 {
				return fmt.Sprintf("container %s: %s, exit code %d", status.GetStringField(container.Object, "name", ""), status.GetStringField(container.Object, "state.terminated.reason", ""), code)
			}
		}
	}
	return ""
}

// completes reports whether a Pod ends when its work is done.
func completes(obj *unstructured.Unstructured) bool {
	policy := status.GetStringField(obj.Object, "spec.restartPolicy", "")
	return policy == "Never" || policy == "OnFailure"
}

// because adds the first of several texts that is not empty to the result.
func because(result Result, why ...string) Result {
	for _, text := range why {
		if text != "" {
			result.Message += ": " + text
			return result
		}
	}
	return result
}
