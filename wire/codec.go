package wire

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewForConfig is a dynamic client that reads what the API server sends by this package.
func NewForConfig(config *rest.Config) (*Client, error) {
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	return NewClient(config, connection)
}

// NewClient is NewForConfig over a connection that is there.
func NewClient(config *rest.Config, connection *http.Client) (*Client, error) {
	config = dynamic.ConfigFor(config)
	config.AcceptContentTypes = runtime.ContentTypeJSON
	config.GroupVersion = nil
	config.APIPath = "/not-used"
	usual := config.NegotiatedSerializer
	config.NegotiatedSerializer = negotiated{NegotiatedSerializer: usual}
	trees, err := rest.UnversionedRESTClientForConfigAndClient(config, connection)
	if err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	config.NegotiatedSerializer = negotiated{NegotiatedSerializer: usual, unread: true}
	objects, err := rest.UnversionedRESTClientForConfigAndClient(config, connection)
	if err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	return &Client{DynamicClient: dynamic.New(trees), objects: objects}, nil
}

// Client is a dynamic client that can also list and watch Objects.
type Client struct {
	*dynamic.DynamicClient
	objects rest.Interface
}

// negotiated is a dynamic client's serializer that decodes JSON by this package.
type negotiated struct {
	runtime.NegotiatedSerializer
	// unread is true where objects are not to be read further than to Objects.
	unread bool
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo {
	var supported []runtime.SerializerInfo
	for _, info := range n.NegotiatedSerializer.SupportedMediaTypes() {
		if info.MediaType != runtime.ContentTypeJSON {
			continue
		}
		info.Serializer = objects{info.Serializer, n.unread}
		stream := *info.StreamSerializer
		stream.Serializer, stream.Framer = events{stream.Serializer}, framer{stream.Framer}
		info.StreamSerializer = &stream
		supported = append(supported, info)
	}
	return supported
}

// objects decodes objects; what it does not understand is decoded by client-go's serializer.
type objects struct {
	runtime.Serializer
	unread bool
}

// Decode implements runtime.Decoder.
func (s objects) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	tree, wanted := into.(*unstructured.Unstructured)
	if into != nil && !wanted {
		return s.Serializer.Decode(data, defaults, into)
	}
	object, err := Decode(data)
	if err != nil || object.APIVersion() == "" || (!wanted && object.Kind() == "Status") {
		decoded, gvk, err := s.Serializer.Decode(data, defaults, into)
		if tree, ok := decoded.(*unstructured.Unstructured); ok && s.unread && err == nil && !wanted {
			return Of(tree), gvk, nil
		}
		return decoded, gvk, err
	}
	gvk := object.GetObjectKind().GroupVersionKind()
	if s.unread && !wanted {
		return object, &gvk, nil
	}
	if !wanted {
		tree = &unstructured.Unstructured{}
	}
	tree.Object = object.Tree().Object
	return tree, &gvk, nil
}

// events decodes the envelopes of a watch.
type events struct{ runtime.Serializer }

// Decode implements runtime.Decoder. The event's object shares the memory of data.
func (s events) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	start := skipSpace(data, 0)
	if !ok || start >= len(data) || data[start] != '{' {
		return s.Serializer.Decode(data, defaults, into)
	}
	var kind string
	var object []byte
	end := members(data, start, func(keyStart, keyEnd, at int) int {
		after := skip(data, at, 1)
		switch {
		case after < 0:
		case string(data[keyStart:keyEnd]) == "object":
			object = data[at:after]
		case string(data[keyStart:keyEnd]) == "type" && data[at] == '"':
			kind = unquote(string(data[at:after]))
		}
		return after
	})
	if end < 0 || kind == "" || object == nil {
		return s.Serializer.Decode(data, defaults, into)
	}
	event.Type, event.Object.Raw = kind, object
	return event, &schema.GroupVersionKind{Version: "v1", Kind: "WatchEvent"}, nil
}
