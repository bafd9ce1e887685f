package examples_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/internal/kanontest"
)

func storefront() *unstructured.Unstructured {
	return kanontest.Ref("shop.example.com/v1", "WebApp", "storefront")
}

func webAppSaysWhereItIs(cluster *kanontest.Cluster) {
	service := cluster.Get(kanontest.Ref("v1", "Service", "storefront"))
	address, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP")
	cluster.AwaitMatch(kanontest.Object(cluster, fmt.Sprintf(`
apiVersion: shop.example.com/v1
kind: WebApp
metadata: {name: storefront}
status: {url: "http://%s"}
`, address)))
}

// webAppIsScaled: an autoscaler is there as long as it is asked for, and has the
// say on replicas as long as it is there.
func webAppIsScaled(cluster *kanontest.Cluster) {
	autoscaler := kanontest.Ref("autoscaling/v2", "HorizontalPodAutoscaler", "storefront")
	deployment := kanontest.Ref("apps/v1", "Deployment", "storefront")
	if cluster.IsThere(autoscaler) {
		cluster.Error("there is an autoscaler that nobody asked for")
	}

	cluster.Patch(storefront(), `{"spec": {"autoscaling": {"maxReplicas": 5}}}`)
	cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: storefront}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: storefront}
  minReplicas: 1
  maxReplicas: 5
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}
`))
	// The Deployment is written before the autoscaler, which names it, and keeps its replicas.
	if replicas, _, _ := unstructured.NestedInt64(cluster.Get(deployment).Object, "spec", "replicas"); replicas != 3 {
		cluster.Errorf("an autoscaler that was just asked for changed the replicas from 3 to %d", replicas)
	}
	cluster.Patch(deployment, `{"spec": {"replicas": 4}}`) // as an autoscaler does
	cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: shop.example.com/v1
kind: WebApp
metadata: {name: storefront}
status: {availableReplicas: 4}
`))

	cluster.Patch(storefront(), `{"spec": {"autoscaling": null}}`)
	cluster.AwaitGone(autoscaler)
	cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: storefront}
spec: {replicas: 3}
`))
}

// webAppFollowsSettings: the ConfigMap follows, and so do the Pods, which read it
// only when they start.
func webAppFollowsSettings(cluster *kanontest.Cluster) {
	cluster.Patch(storefront(), `{"spec": {"settings": {"CURRENCY": "SEK", "LANGUAGE": "sv"}}}`)
	cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: v1
kind: ConfigMap
metadata: {name: storefront-settings}
data: {CURRENCY: SEK, LANGUAGE: sv}
`))
	cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: storefront}
spec: {template: {metadata: {annotations: {shop.example.com/settings: "CURRENCY=SEK,LANGUAGE=sv"}}}}
`))

	cluster.Patch(storefront(), `{"spec": {"settings": null}}`)
	live := cluster.Await(kanontest.Ref("v1", "ConfigMap", "storefront-settings"), func(live *unstructured.Unstructured) error {
		if data, ok := live.Object["data"]; ok {
			return fmt.Errorf("it still has data %v", data)
		}
		return nil
	})
	if !metav1.IsControlledBy(live, cluster.Get(storefront())) {
		cluster.Error("the ConfigMap is not the WebApp's any more")
	}
}
