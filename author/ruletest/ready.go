package ruletest

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/readiness"
)

// setReady gives an object the status that its controller writes when it is ready. For a custom kind, that is the
// condition Ready. It returns an error if the object is still not ready with it; then its status has to be written with set.
func (r *runner) setReady(ctx context.Context, object *unstructured.Unstructured) error {
	return r.control(ctx, object, status.CurrentStatus, r.readyStatus(object))
}

// setFailed gives an object the status of a failed one.
func (r *runner) setFailed(ctx context.Context, object *unstructured.Unstructured) error {
	return r.control(ctx, object, status.FailedStatus, failedStatus(object))
}

func (r *runner) control(ctx context.Context, object *unstructured.Unstructured, want status.Status, fields map[string]any) error {
	if fields != nil {
		if err := r.cluster.SetStatus(ctx, object, r.fitting(object, fields)); err != nil {
			return err
		}
		object = r.cluster.Newest(object)
	}
	result, err := readiness.Of(object, false)
	if err != nil {
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if result.Status != want {
		return fmt.Errorf("%s %s is %s, and not %s: write its status with set", object.GetKind(), object.GetName(), result, want)
	}
	return nil
}

// fitting completes a status for the schema of the object's kind: it drops observedGeneration if the schema has none,
// and fills in the times of conditions.
func (r *runner) fitting(object *unstructured.Unstructured, status map[string]any) map[string]any {
	of, _ := r.kinds.Schema(object.GroupVersionKind()).At("status")
	if _, has := of.At("observedGeneration"); of != nil && !has {
		delete(status, "observedGeneration")
	}
	all, _ := status["conditions"].([]any)
	for _, item := range all {
		if fields, ok := item.(map[string]any); ok {
			fields["lastTransitionTime"] = r.cluster.Now().Format(time.RFC3339)
		}
	}
	return status
}

// readyStatus is the status that a controller writes for a ready object; nil for an object that needs none.
func (r *runner) readyStatus(object *unstructured.Unstructured) map[string]any {
	replicas := int64(status.GetIntField(object.Object, "spec.replicas", 1))
	generation := object.GetGeneration()
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return map[string]any{
			"observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
			"conditions": []any{
				condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
				condition("Progressing", "True", "NewReplicaSetAvailable", sentence(object, "has successfully progressed.")),
			},
		}
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return map[string]any{
			"observedGeneration": generation, "replicas": replicas, "readyReplicas": replicas, "currentReplicas": replicas,
			"updatedReplicas": replicas, "availableReplicas": replicas, "currentRevision": "1", "updateRevision": "1",
		}
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Kind: "ReplicationController"}:
		return map[string]any{
			"observedGeneration": generation, "replicas": replicas, "fullyLabeledReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
		}
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return map[string]any{
			"observedGeneration": generation, "desiredNumberScheduled": int64(1), "currentNumberScheduled": int64(1),
			"updatedNumberScheduled": int64(1), "numberAvailable": int64(1), "numberReady": int64(1),
		}
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return map[string]any{
			"succeeded": int64(status.GetIntField(object.Object, "spec.completions", 1)), "active": int64(0),
			"conditions": both(
				"SuccessCriteriaMet", "Complete", "CompletionsReached", "Reached expected number of succeeded pods",
			),
		}
	case schema.GroupKind{Kind: "Pod"}:
		if policy, _, _ := unstructured.NestedString(object.Object, "spec", "restartPolicy"); policy == "Never" || policy == "OnFailure" {
			return map[string]any{"phase": "Succeeded", "conditions": []any{condition("Ready", "False", "PodCompleted", "")}}
		}
		return map[string]any{"phase": "Running", "conditions": []any{condition("Ready", "True", "PodReady", "")}}
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return map[string]any{"phase": "Bound"}
	case schema.GroupKind{Kind: "Service"}:
		if kind, _, _ := unstructured.NestedString(object.Object, "spec", "type"); kind != "LoadBalancer" {
			return nil
		}
		return map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1"}}}}
	case schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}:
		return map[string]any{"observedGeneration": generation, "currentHealthy": int64(1), "desiredHealthy": int64(1), "disruptionsAllowed": int64(1)}
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return map[string]any{"conditions": []any{
			condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
			condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
		}}
	case schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		return map[string]any{"conditions": []any{condition("Available", "True", "Passed", "all checks passed")}}
	case schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:
		return map[string]any{"certificate": "eA==", "conditions": []any{condition("Approved", "True", "AutoApproved", "")}}
	default:
		if !r.kinds.TakesConditions(object.GroupVersionKind()) {
			return nil
		}
		return map[string]any{"observedGeneration": generation, "conditions": []any{condition("Ready", "True", "Ready", "")}}
	}
}

// failedStatus is the status that a controller writes for a failed object.
func failedStatus(object *unstructured.Unstructured) map[string]any {
	switch object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return map[string]any{
			"failed": int64(1), "active": int64(0),
			"conditions": both("FailureTarget", "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"),
		}
	case schema.GroupKind{Kind: "Pod"}:
		return map[string]any{"phase": "Failed", "conditions": []any{condition("Ready", "False", "PodFailed", "")}}
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return map[string]any{
			"observedGeneration": object.GetGeneration(),
			"conditions": []any{
				condition("Progressing", "False", "ProgressDeadlineExceeded", sentence(object, "has timed out progressing.")),
			},
		}
	default:
		return map[string]any{
			"observedGeneration": object.GetGeneration(),
			"conditions":         []any{condition("Stalled", "True", "Failed", sentence(object, "has failed"))},
		}
	}
}

func condition(kind, value, reason, message string) map[string]any {
	return map[string]any{"type": kind, "status": value, "reason": reason, "message": message}
}

// both are the conditions of a Job that ends: its controller writes the first once the Job is decided, and the second
// once its Pods are gone.
func both(decided, ended, reason, message string) []any {
	return []any{condition(decided, "True", reason, message), condition(ended, "True", reason, message)}
}

// sentence is a message about an object. The Deployment controller writes such a one as long as there is no ReplicaSet.
func sentence(object *unstructured.Unstructured, verb string) string {
	return fmt.Sprintf("%s %q %s", object.GetKind(), object.GetName(), verb)
}
