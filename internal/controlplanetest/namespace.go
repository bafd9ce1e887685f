package controlplanetest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Namespace makes a namespace for one test and returns its name. It stays until the control plane ends: to delete it
// would take the API server longer than most tests, because it looks for objects of every kind.
func Namespace(tb testing.TB, config *rest.Config) string {
	tb.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		tb.Fatalf("make client: %v", err)
	}
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	made, err := client.CoreV1().Namespaces().Create(tb.Context(), wanted, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("create namespace: %v", err)
	}
	return made.Name
}
