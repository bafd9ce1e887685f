package readiness

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Result is the state of an object.
type Result struct {
	Status status.Status
	// Message is why the object is not current; may be empty.
	Message string
}

// String is the status, followed by the message after a colon.
func (r Result) String() string {
	if r.Message == "" {
		return r.Status.String()
	}
	return r.Status.String() + ": " + r.Message
}

// AlwaysCurrent reports whether every object of a kind is current that exists and is not being deleted, whatever its
// content.
func AlwaysCurrent(gk schema.GroupKind) bool {
	return gk.Group == "" && (gk.Kind == "ConfigMap" || gk.Kind == "Secret")
}

// Of returns the state of an object. awaitsStatus is true for a kind whose controller writes a status: without one, no
// controller has seen the object yet. An error means that a field of the status has the wrong type.
func Of(obj *unstructured.Unstructured, awaitsStatus bool) (Result, error) {
	if result, ended := endedPod(obj); ended {
		return result, nil
	}
	computed, err := status.Compute(obj)
	if err != nil {
		return Result{}, err
	}
	if computed.Status == status.InProgressStatus && !SawNewest(obj) {
		return inProgress("its controller has not seen its newest generation yet"), nil
	}
	result := Result{Status: computed.Status, Message: computed.Message}
	if awaitsStatus && obj.Object["status"] == nil && result.Status == status.CurrentStatus {
		return inProgress("it has no status yet"), nil
	}
	refine, ok := refinements[obj.GroupVersionKind().GroupKind()]
	if !ok {
		refine = readyCondition
	}
	return refine(obj, result), nil
}

// SawNewest reports whether a status belongs to the newest generation, as far as it says. Messages do not name
// generations: they would change with every update, and a condition with them.
func SawNewest(obj *unstructured.Unstructured) bool {
	seen, found, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	return !found || err != nil || seen >= obj.GetGeneration()
}

// HasFailed reports whether the status of an object says that it will not become ready.
func HasFailed(obj *unstructured.Unstructured) bool {
	result, err := Of(obj, false)
	return err == nil && result.Status == status.FailedStatus
}

// refinements correct what kstatus says of a kind.
//
//nolint:gochecknoglobals // a constant in all but syntax
var refinements = map[schema.GroupKind]func(*unstructured.Unstructured, Result) Result{
	{Kind: "Pod"}:                                                     pod,
	{Kind: "Service"}:                                                 service,
	{Kind: "ReplicationController"}:                                   replicationController,
	{Group: "apps", Kind: "DaemonSet"}:                                observed,
	{Group: "apps", Kind: "Deployment"}:                               observed,
	{Group: "apps", Kind: "ReplicaSet"}:                               observed,
	{Group: "apps", Kind: "StatefulSet"}:                              statefulSet,
	{Group: "batch", Kind: "Job"}:                                     job,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    observed,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             apiService,
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}: certificateSigningRequest,
}

func inProgress(format string, args ...any) Result {
	return Result{Status: status.InProgressStatus, Message: fmt.Sprintf(format, args...)}
}

func failed(message string) Result {
	return Result{Status: status.FailedStatus, Message: message}
}

// observed is for kinds whose controller writes observedGeneration. Until it does, the status is empty, and kstatus
// would read its zeros as a state.
func observed(obj *unstructured.Unstructured, result Result) Result {
	if result.Status != status.CurrentStatus {
		return result
	}
	fields, _ := obj.Object["status"].(map[string]any)
	_, seen := fields["observedGeneration"]
	if !seen && (obj.GetGeneration() > 0 || len(fields) == 0) {
		return inProgress("its controller has not seen it yet")
	}
	return result
}

// job makes a Job current once it is complete. For kstatus, it is current once it has started.
func job(obj *unstructured.Unstructured, result Result) Result {
	switch {
	case result.Status == status.FailedStatus:
		return because(result, reasonAndMessage(condition(obj, "Failed")))
	case result.Status != status.CurrentStatus || isTrue(obj, "Complete"):
		return result
	case isTrue(obj, "Suspended"):
		return inProgress("Job is suspended")
	}
	result.Status = status.InProgressStatus
	return result
}

// statefulSet waits for the replicas of a StatefulSet whose Pods the user updates. kstatus calls it current without
// any.
func statefulSet(obj *unstructured.Unstructured, result Result) Result {
	result = observed(obj, result)
	if result.Status != status.CurrentStatus || status.GetStringField(obj.Object, "spec.updateStrategy.type", "") != "OnDelete" {
		return result
	}
	return replicas(obj, result, "readyReplicas")
}

func replicationController(obj *unstructured.Unstructured, result Result) Result {
	result = observed(obj, result)
	if result.Status != status.CurrentStatus {
		return result
	}
	return replicas(obj, result, "availableReplicas")
}

// replicas waits until as many replicas as spec.replicas exist, and until a field of the status counts as many.
func replicas(obj *unstructured.Unstructured, result Result, field string) Result {
	wanted, exist := status.GetIntField(obj.Object, "spec.replicas", 1), status.GetIntField(obj.Object, "status.replicas", 0)
	counted := status.GetIntField(obj.Object, "status."+field, 0)
	switch {
	case exist != wanted:
		return inProgress("replicas: %d/%d", exist, wanted)
	case counted < wanted:
		return inProgress("%s: %d/%d", field, counted, wanted)
	}
	return result
}

// service waits for the address of a load balancer. kstatus waits for the cluster IP, which the API server sets at
// once.
func service(obj *unstructured.Unstructured, result Result) Result {
	if result.Status != status.CurrentStatus || status.GetStringField(obj.Object, "spec.type", "") != "LoadBalancer" {
		return result
	}
	addresses, _, _ := unstructured.NestedSlice(obj.Object, "status", "loadBalancer", "ingress")
	external, _, _ := unstructured.NestedSlice(obj.Object, "spec", "externalIPs")
	if len(addresses)+len(external) == 0 {
		return inProgress("the load balancer has no address yet")
	}
	return result
}

func apiService(obj *unstructured.Unstructured, result Result) Result {
	if result.Status != status.CurrentStatus || isTrue(obj, "Available") {
		return result
	}
	return inProgress("APIService is not available")
}

func certificateSigningRequest(obj *unstructured.Unstructured, result Result) Result {
	switch {
	case result.Status != status.CurrentStatus || status.GetStringField(obj.Object, "status.certificate", "") != "":
		return result
	case isTrue(obj, "Denied"):
		return failed("the request is denied")
	case isTrue(obj, "Failed"):
		return failed("the signer has failed")
	}
	return inProgress("no certificate is issued yet")
}

// readyCondition ignores a Ready condition of an older generation. Many controllers record the generation only in their
// conditions.
func readyCondition(obj *unstructured.Unstructured, result Result) Result {
	ready := condition(obj, "Ready")
	if result.Status != status.CurrentStatus || ready == nil {
		return result
	}
	about, found, err := unstructured.NestedInt64(ready, "observedGeneration")
	if found && err == nil && about < obj.GetGeneration() {
		return inProgress("its condition Ready is about an earlier generation")
	}
	return result
}

// condition is the first condition of a type; nil if there is none.
func condition(obj *unstructured.Unstructured, kind string) map[string]any {
	fields, _ := obj.Object["status"].(map[string]any)
	all, _ := fields["conditions"].([]any)
	for _, item := range all {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

func isTrue(obj *unstructured.Unstructured, kind string) bool {
	return condition(obj, kind)["status"] == "True"
}

// reasonAndMessage joins the reason and the message of a status or a condition; either may be empty.
func reasonAndMessage(of any) string {
	fields, _ := of.(map[string]any)
	reason, _ := fields["reason"].(string)
	message, _ := fields["message"].(string)
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

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
