package operations

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/live/listing"
)

// WhySilent explains, by Kanon's Lease, why Kanon may not answer. A Kanon that runs without leader election has no
// Lease.
func WhySilent(ctx context.Context, client dynamic.Interface, lease types.NamespacedName, now time.Time) string {
	const unknown = "is Kanon running? kanon get rules shows what it reports"
	object, err := client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(lease.Namespace).Get(ctx, lease.Name, metav1.GetOptions{})
	if err != nil {
		return unknown
	}
	var held coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &held); err != nil || held.Spec.RenewTime == nil || held.Spec.LeaseDurationSeconds == nil {
		return unknown
	}
	renewed := held.Spec.RenewTime.Time
	age := listing.Age(renewed, now)
	switch lasts := time.Duration(*held.Spec.LeaseDurationSeconds) * time.Second; {
	case held.Spec.HolderIdentity == nil || *held.Spec.HolderIdentity == "", now.Sub(renewed) > lasts:
		return fmt.Sprintf("no Kanon runs, as Lease %s in namespace %s was renewed %s ago", lease.Name, lease.Namespace, age)
	default:
		return fmt.Sprintf("%s runs, as it renewed its Lease %s ago: it has much to do, or may not create Events; its log says which", *held.Spec.HolderIdentity, age)
	}
}
