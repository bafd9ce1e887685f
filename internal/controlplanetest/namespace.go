package controlplanetest

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// deleteLimit bounds the request that deletes a namespace.
const deleteLimit = 2 * time.Minute

// Namespace makes a namespace for one test and returns its name. It is deleted at the end of the test. Nobody waits for
// that, because names are never reused.
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
	tb.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), deleteLimit)
		defer cancel()
		err := client.CoreV1().Namespaces().Delete(ctx, made.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			tb.Errorf("delete namespace: %v", err)
		}
	})
	return made.Name
}
