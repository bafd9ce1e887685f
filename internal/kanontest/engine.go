package kanontest

import (
	"errors"
	"net/http"
	"testing"

	"k8s.io/client-go/discovery"
	typedauthorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	clientopenapi "k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
)

// EngineOptions are those of an engine that reads rules from the ConfigMaps of a namespace, where it also keeps its records.
// The caller adds the rest. The clients use a copy of config, changed by each of wraps.
func EngineOptions(tb testing.TB, config *rest.Config, namespace string, wraps ...func(*rest.Config)) engine.Options {
	tb.Helper()
	config = rest.CopyConfig(config)
	for _, wrap := range wraps {
		wrap(config)
	}
	config.Wrap(tenant.Wrap)
	client, err1 := watch.NewForConfig(config)
	mapper, err2 := restmapping.New(restmapping.Options{Config: config})
	disco, err3 := discovery.NewDiscoveryClientForConfig(config)
	reviews, err4 := typedauthorizationv1.NewForConfig(config)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		tb.Fatalf("make clients: %v", err)
	}
	return engine.Options{
		Client:    client,
		Mapper:    mapper,
		Schemas:   openapi.NewPublished(clientopenapi.NewClientWithContext(disco.RESTClient())),
		Sources:   []engine.Source{source.NewConfigMaps(client, namespace)},
		Namespace: namespace,
		Reviewer:  reviews.SubjectAccessReviews(),
	}
}

// RoundTripper makes a transport of a function.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
