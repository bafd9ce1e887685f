package readiness

import (
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// kindCases are states of objects for each row of the table in docs/reference/children.md, each with
// what Of says of it.
func kindCases() map[string][][2]string {
	const (
		job      = "apiVersion: batch/v1, kind: Job, metadata: {generation: 1}"
		pod      = "apiVersion: v1, kind: Pod"
		once     = pod + ", spec: {restartPolicy: Never}"
		retried  = pod + ", spec: {restartPolicy: OnFailure}"
		replicas = "metadata: {generation: 1}, spec: {replicas: 2}"
		onDelete = "apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2, updateStrategy: {type: OnDelete}}"
		set      = "apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 2, updateStrategy: {rollingUpdate: {partition: 0}}}"
		daemon   = "apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}"
		balancer = "apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1"
		crd      = "apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition"
		request  = "apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest"
		custom   = "apiVersion: shop.example.com/v1, kind: Database, metadata: {generation: 2}"
		unseen   = "InProgress: its controller has not seen it yet"
	)
	return map[string][][2]string{
		"ConfigMap, Secret": {
			{"apiVersion: v1, kind: ConfigMap", "Current"},
			{"apiVersion: v1, kind: Secret", "Current"},
			{"apiVersion: v1, kind: ConfigMap, metadata: {deletionTimestamp: '2026-03-05T05:00:00Z'}", "Terminating: Resource scheduled for deletion"},
		},
		"CronJob": {{"apiVersion: batch/v1, kind: CronJob, metadata: {generation: 1}", "Current"}},
		"Job": {
			{job, "InProgress: Job not started"},
			{job + ", status: {startTime: '2026-03-05T05:00:00Z', active: 1}", "InProgress: Job in progress. success:0, active: 1, failed: 0"},
			{job + ", status: {startTime: '2026-03-05T05:00:00Z', conditions: [{type: Suspended, status: 'True'}]}", "InProgress: Job is suspended"},
			{
				job + ", status: {startTime: '2026-03-05T05:00:00Z', succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: 'True'}]}",
				"InProgress: Job in progress. success:1, active: 0, failed: 0",
			},
			{job + ", status: {startTime: '2026-03-05T05:00:00Z', succeeded: 1, conditions: [{type: Complete, status: 'True'}]}", "Current"},
			{job + ", status: {startTime: '2026-03-05T05:00:00Z', failed: 1, conditions: [{type: Failed, status: 'True'}]}", "Failed: Job Failed. failed: 1/1"},
			{job + ", status: {startTime: '2026-03-05T05:00:00Z', failed: 1, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]}", "Failed: Job Failed. failed: 1/1: BackoffLimitExceeded: Job has reached the specified backoff limit"},
		},
		"Pod, restartPolicy Never or OnFailure": {
			{once, "InProgress: Pod phase not available"},
			{once + ", status: {phase: Pending}", "InProgress: Pod is pending"},
			{
				once + ", status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}",
				"InProgress: Pod is running, and is ready when it has succeeded: its restartPolicy is Never",
			},
			{
				retried + ", status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}",
				"InProgress: Pod is running, and is ready when it has succeeded: its restartPolicy is OnFailure",
			},
			{once + ", status: {phase: Succeeded}", "Current"},
			{retried + ", status: {phase: Succeeded}", "Current"},
			{once + ", status: {phase: Failed, reason: Evicted}", "Failed: Pod has failed: Evicted"},
			{once + ", status: {phase: Failed, reason: Evicted, message: 'The node was low on memory.'}", "Failed: Pod has failed: Evicted: The node was low on memory."},
			{once + ", status: {phase: Failed, initContainerStatuses: [{name: init, state: {terminated: {exitCode: 0, reason: Completed}}}], containerStatuses: [{name: web, state: {terminated: {exitCode: 3, reason: Error}}}]}", "Failed: Pod has failed: container web: Error, exit code 3"},
		},
		"Pod, restartPolicy Always": {
			{pod + ", status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}", "Current"},
			{pod + ", status: {phase: Running, conditions: [{type: Ready, status: 'False'}]}", "InProgress: Pod is running but is not Ready"},
			{
				pod + ", status: {phase: Running, containerStatuses: [{name: web, state: {waiting: {reason: CrashLoopBackOff}}}]}",
				"Failed: Containers in CrashLoop state: web",
			},
			{pod + ", status: {phase: Succeeded}", "Failed: Pod has ended, and its restartPolicy is Always"},
			{pod + ", status: {phase: Failed, message: lost}", "Failed: Pod has failed: lost"},
			{pod + ", status: {phase: Unknown}", "InProgress: nothing is known of the Pod: its node does not answer"},
			{
				pod + ", metadata: {creationTimestamp: '2020-01-01T00:00:00Z'}, " +
					"status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: no nodes}]}",
				"InProgress: Pod is not scheduled: no nodes",
			},
		},
		"Deployment": {
			{"apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 0}", "InProgress: Deployment not Available"},
			{
				"apiVersion: apps/v1, kind: Deployment, " + replicas + ", status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 1}",
				"InProgress: Available: 1/2",
			},
			{"apiVersion: apps/v1, kind: Deployment, " + replicas + ", status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2, " +
				"readyReplicas: 2, conditions: [{type: Available, status: 'True'}]}", "Current"},
			{
				"apiVersion: apps/v1, kind: Deployment, " + replicas + ", status: {observedGeneration: 1, conditions: [{type: Progressing, reason: ProgressDeadlineExceeded}]}",
				"Failed: Progress deadline exceeded",
			},
		},
		"StatefulSet": {
			{"apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 0}", unseen},
			{set + ", status: {observedGeneration: 1, replicas: 2, readyReplicas: 1}", "InProgress: Ready: 1/2"},
			{set + ", status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, updatedReplicas: 1}", "InProgress: updated: 1/2"},
			{set + ", status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, updatedReplicas: 2}", "Current"},
		},
		"StatefulSet, updateStrategy OnDelete": {
			{onDelete, unseen},
			{onDelete + ", status: {observedGeneration: 1}", "InProgress: replicas: 0/2"},
			{onDelete + ", status: {observedGeneration: 1, replicas: 2, readyReplicas: 1}", "InProgress: readyReplicas: 1/2"},
			{onDelete + ", status: {observedGeneration: 1, replicas: 2, readyReplicas: 2, updatedReplicas: 1}", "Current"},
		},
		"DaemonSet": {
			{daemon, "InProgress: DaemonSet status.observedGeneration not found"},
			{daemon + ", status: {observedGeneration: 1, desiredNumberScheduled: 1, currentNumberScheduled: 1}", "InProgress: Updated: 0/1"},
			{daemon + ", status: {observedGeneration: 1, desiredNumberScheduled: 1, currentNumberScheduled: 1, updatedNumberScheduled: 1, " +
				"numberAvailable: 1, numberReady: 1}", "Current"},
		},
		"ReplicaSet": {
			{"apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {replicas: 0}, status: {replicas: 0}", unseen},
			{
				"apiVersion: apps/v1, kind: ReplicaSet, " + replicas + ", status: {observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, availableReplicas: 1}",
				"InProgress: Available: 1/2",
			},
			{"apiVersion: apps/v1, kind: ReplicaSet, " + replicas + ", status: {observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, availableReplicas: 2, " +
				"readyReplicas: 2}", "Current"},
		},
		"ReplicationController": {
			{"apiVersion: v1, kind: ReplicationController, " + replicas, unseen},
			{
				"apiVersion: v1, kind: ReplicationController, " + replicas + ", status: {observedGeneration: 1, replicas: 2, availableReplicas: 1}",
				"InProgress: availableReplicas: 1/2",
			},
			{"apiVersion: v1, kind: ReplicationController, " + replicas + ", status: {observedGeneration: 1, replicas: 2, availableReplicas: 2}", "Current"},
		},
		"PersistentVolumeClaim": {
			{"apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}", "InProgress: PVC is not Bound. phase: Pending"},
			{"apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}", "Current"},
		},
		"Service": {{"apiVersion: v1, kind: Service, spec: {type: ClusterIP}", "Current"}},
		"Service, type LoadBalancer": {
			{balancer + "}, status: {loadBalancer: {}}", "InProgress: the load balancer has no address yet"},
			{balancer + "}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}", "Current"},
			{balancer + ", externalIPs: [192.0.2.1]}", "Current"},
		},
		"PodDisruptionBudget": {
			{"apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {expectedPods: 0}", unseen},
			{"apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {observedGeneration: 1}", "Current"},
		},
		"CustomResourceDefinition": {
			{crd, "InProgress: Install in progress"},
			{crd + ", status: {conditions: [{type: Established, status: 'True'}]}", "Current"},
			{crd + ", status: {conditions: [{type: NamesAccepted, status: 'False', message: taken}]}", "Failed: taken"},
		},
		"APIService": {
			{"apiVersion: apiregistration.k8s.io/v1, kind: APIService", "InProgress: APIService is not available"},
			{"apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: 'True'}]}", "Current"},
		},
		"CertificateSigningRequest": {
			{request + ", status: {conditions: [{type: Approved, status: 'True'}]}", "InProgress: no certificate is issued yet"},
			{request + ", status: {certificate: QQ==, conditions: [{type: Approved, status: 'True'}]}", "Current"},
			{request + ", status: {conditions: [{type: Denied, status: 'True'}]}", "Failed: the request is denied"},
			{request + ", status: {conditions: [{type: Failed, status: 'True'}]}", "Failed: the signer has failed"},
		},
		"other kinds of Kubernetes": {
			{"apiVersion: networking.k8s.io/v1, kind: NetworkPolicy", "Current"},
			{"apiVersion: v1, kind: Node, status: {conditions: [{type: Ready, status: 'False', message: starting}]}", "InProgress: starting"},
			{"apiVersion: v1, kind: Node, status: {conditions: [{type: Ready, status: 'True'}]}", "Current"},
		},
		"custom kinds": {
			{custom, "InProgress: it has no status yet"},
			{custom + ", status: {phase: Running}", "Current"},
			{custom + ", status: {observedGeneration: 1}", "InProgress: its controller has not seen its newest generation yet"},
			{custom + ", status: {conditions: [{type: Ready, status: 'False', message: starting}]}", "InProgress: starting"},
			{
				custom + ", status: {conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}",
				"InProgress: its condition Ready is about an earlier generation",
			},
			{custom + ", status: {conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}", "Current"},
			{custom + ", status: {conditions: [{type: Reconciling, status: 'True', message: on it}]}", "InProgress: on it"},
			{custom + ", status: {conditions: [{type: Stalled, status: 'True', message: no room}]}", "Failed: no room"},
		},
	}
}

// TestDocumentedKinds has a case for each row of the table, and none besides.
func TestDocumentedKinds(t *testing.T) {
	t.Parallel()
	cases := kindCases()
	rows := documentedKinds(t)
	for _, row := range rows {
		if len(cases[row]) == 0 {
			t.Errorf("no case for the row %q", row)
		}
	}
	for row, states := range cases {
		if !slices.Contains(rows, row) {
			t.Errorf("docs/reference/children.md has no row %q", row)
		}
		for _, state := range states {
			var object unstructured.Unstructured
			if err := yaml.Unmarshal([]byte("{"+state[0]+"}"), &object.Object); err != nil {
				t.Fatal(err)
			}
			whole(object.Object)
			result, err := Of(&object, row == "custom kinds")
			if err != nil {
				t.Errorf("%s: %v", state[0], err)
			}
			got := result.String()
			if want := state[1]; got != want && (want != "Current" || !strings.HasPrefix(got, "Current")) {
				t.Errorf("%s\n got %s\nwant %s", state[0], got, want)
			}
		}
	}
}

// documentedKinds are the first cells of the table of docs/reference/children.md.
func documentedKinds(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/children.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| kind | ready when |\n| --- | --- |\n")
	var rows []string
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		rows = append(rows, strings.TrimSpace(strings.Split(line, "|")[1]))
	}
	return rows
}

// whole turns the numbers of an object into those that a decoder of Kubernetes gives.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			v[name] = whole(field)
		}
	case []any:
		for i, item := range v {
			v[i] = whole(item)
		}
	case float64:
		return int64(v)
	}
	return v
}
