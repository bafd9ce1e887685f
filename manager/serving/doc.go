// Package serving serves over HTTP: health for the kubelet, and metrics and profiles for those who may read them.
//
//	health := serving.Endpoint{Name: "health", Address: ":8081", Handler: serving.Health(live, ready)}
//	metrics := serving.Endpoint{
//		Name: "metrics", Address: ":8443", Handler: serving.NewReviews(clients).Protect(mux), Certificate: serving.SelfSigned("kanon"),
//	}
//
//	server, err := serving.Listen(ctx, metrics) // the address may be in use
//	if err != nil {
//		return err
//	}
//	return server.Run(ctx) // until ctx ends
//
// Health has no secrets, and answers everybody, as the health endpoints of Kubernetes' own components do: /livez,
// /readyz, each check by its name, ?verbose and ?exclude. Everything else is behind Reviews. They ask the API server
// who sends a request (TokenReview), and whether it is permitted (SubjectAccessReview for the path).
package serving
