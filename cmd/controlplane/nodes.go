package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// createNodes registers fake Nodes, named node-0 and up, as kubelets would. Existing ones stay as they are.
func createNodes(ctx context.Context, client kubernetes.Interface, count int) error {
	for i := range count {
		name := fmt.Sprintf("node-%d", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			},
		}}
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create node: %w", err)
		}
	}
	return nil
}

// probeNodes returns a check that succeeds once every Node is Ready.
func probeNodes(client kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		var missing []string
		for i := range list.Items {
			if !isReady(&list.Items[i]) {
				missing = append(missing, list.Items[i].Name)
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("nodes not ready: %s", strings.Join(missing, ", "))
		}
		return nil
	}
}

// isReady reports whether a Node has a true condition Ready.
func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
