package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/record"
)

// mostObjects bounds the parents, and the children, that are listed of a rule.
const mostObjects = 500

// addRules adds the rules, the compiler's findings, and the objects that are not ready.
func (c *collector) addRules(ctx context.Context) {
	all, err := ListRules(ctx, c.Client, c.Namespace)
	if err != nil {
		c.lacks("rules.txt", err)
		return
	}
	kinds, err := manifests.ClusterKinds(ctx, c.Config)
	c.lacks("findings/, parents/ and children/", err)
	for _, rule := range all.All {
		if rule.Object != nil {
			name := strings.ToLower(rule.Object.GetKind()) + "-" + rule.Object.GetNamespace() + "-" + rule.Object.GetName()
			c.addObject("rules/"+name+".yaml", rule.Object)
		}
		if kinds != nil {
			c.addRule(ctx, rule, kinds)
		}
	}
	c.addList("rules.txt", RuleList(all.All, c.Now))
	for _, problem := range all.Problems {
		c.lacks("rules.txt", fmt.Errorf("%s: %s", problem.Where, problem.Message))
	}
}

// addRule adds the files of one rule.
func (c *collector) addRule(ctx context.Context, rule *Rule, kinds *manifests.Kinds) {
	file := rule.Name.Namespace + "-" + rule.Name.Name + ".txt"
	if rule.Decoded != nil {
		_, findings, err := (&Compiler{Kinds: kinds, Namespace: c.Namespace}).Compile(ctx, rule)
		var text strings.Builder
		if err == nil {
			err = manifests.Report{Findings: findings}.Write(&text, manifests.ReportText)
		}
		c.lacks("findings/"+file, err)
		c.addText("findings/"+file, text.String())
	}
	reader := &Reader{Client: c.Client, Kinds: kinds}
	c.lacks("the counts of rule "+rule.Name.String(), reader.Count(ctx, rule))
	for _, noun := range []Noun{Parents, Children} {
		items, err := reader.Items(ctx, rule, noun, Query{})
		c.lacks(string(noun)+"/"+file, err)
		items = slices.DeleteFunc(items, func(item Item) bool { return item.Ready == "True" })
		if len(items) > 0 {
			c.addList(string(noun)+"/"+file, ItemList(noun, items[:min(len(items), mostObjects)], true, c.Now))
		}
	}
}

// addRecords adds the records of rules, without the seals.
func (c *collector) addRecords(ctx context.Context) {
	c.addObjects(ctx, "records/", corev1.SchemeGroupVersion.WithResource("configmaps"), metav1.ListOptions{LabelSelector: record.Label + "=true"})
}

// addKanon adds the versions of Kanon and of the API server, and how Kanon is installed.
func (c *collector) addKanon(ctx context.Context) {
	versions := map[string]string{"clientVersion": c.Version}
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err == nil {
		server, failed := client.ServerVersion()
		if err = failed; err == nil {
			versions["serverVersion"] = server.GitVersion
		}
	}
	c.lacks("kanon.yaml: the version of the server", err)
	c.addYAML("kanon.yaml", versions)
	labelled := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=kanon"} // as in deploy/
	c.addObjects(ctx, "deployments/", appsv1.SchemeGroupVersion.WithResource("deployments"), labelled)
	c.addObjects(ctx, "pods/", corev1.SchemeGroupVersion.WithResource("pods"), labelled)
	c.addObjects(ctx, "leases/", coordinationv1.SchemeGroupVersion.WithResource("leases"), metav1.ListOptions{FieldSelector: "metadata.name=" + engine.LeaseName})
}

// addObjects adds objects in Kanon's namespace. It leaves out the environment of containers, which may have passwords.
func (c *collector) addObjects(ctx context.Context, folder string, gvr schema.GroupVersionResource, options metav1.ListOptions) {
	list, err := c.Client.Resource(gvr).Namespace(c.Namespace).List(ctx, options)
	if err != nil {
		c.lacks(folder, err)
		return
	}
	for i := range list.Items {
		withoutEnvironment(list.Items[i].Object)
		c.addObject(folder+list.Items[i].GetName()+".yaml", &list.Items[i])
	}
}

// addObject adds an object without managedFields, the last-applied annotation, and the seal of a record.
func (c *collector) addObject(file string, object *unstructured.Unstructured) {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	annotations := object.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	object.SetAnnotations(annotations)
	unstructured.RemoveNestedField(object.Object, "data", "seal")
	c.addYAML(file, c.values.Object(object.Object))
}

// withoutEnvironment removes the environment of containers, wherever they are.
func withoutEnvironment(value any) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "env")
		delete(value, "envFrom")
		for _, field := range value {
			withoutEnvironment(field)
		}
	case []any:
		for _, item := range value {
			withoutEnvironment(item)
		}
	}
}

// mostBytes bounds a response.
const mostBytes = 64 << 20

// addMetrics adds the metrics and the profiles of each address. A heap profile shows which code allocated memory, not
// its contents. The goroutine profile has stacks without arguments.
func (c *collector) addMetrics(ctx context.Context) {
	if len(c.Metrics) == 0 {
		c.lacks("metrics/ and profiles/", errors.New("no address of metrics was named (--metrics)"))
	}
	for _, address := range c.Metrics {
		client, err := c.clientFor(address)
		if err != nil {
			c.lacks("metrics/", err)
			continue
		}
		name := strings.NewReplacer(":", "-", "[", "", "]", "").Replace(address.Host)
		collect := func(file, path string, add func(name, data string)) {
			body, err := fetch(ctx, client, address.String()+path)
			c.lacks(file, err)
			if err == nil {
				add(file, string(body))
			}
		}
		collect("metrics/"+name+".txt", "/metrics", c.addText)
		collect("profiles/"+name+"-heap.pprof", "/debug/pprof/heap", c.addBinary)
		collect("profiles/"+name+"-goroutines.txt", "/debug/pprof/goroutine?debug=1", c.addText)
	}
}

// clientFor returns a client with the user's identity, or with Token. Kanon's self-signed certificate cannot be
// verified. It is accepted only from this machine, for instance through kubectl port-forward, where nobody is in
// between.
func (c *collector) clientFor(address *url.URL) (*http.Client, error) {
	config := rest.CopyConfig(c.Config)
	if c.Token != "" {
		config = rest.AnonymousClientConfig(config)
		config.BearerToken = c.Token
	}
	config.Host = address.String()
	config.TLSClientConfig = rest.TLSClientConfig{Insecure: isLoopback(address.Hostname())}
	config.Impersonate = rest.ImpersonationConfig{}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to %s: %w", address, err)
	}
	return client, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func fetch(ctx context.Context, client *http.Client, where string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", where, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err // it names the address
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", where, err)
	case response.StatusCode != http.StatusOK:
		line, _, _ := strings.Cut(string(body), "\n")
		return nil, fmt.Errorf("%s answers %s: %s", where, response.Status, line)
	}
	return body, nil
}
