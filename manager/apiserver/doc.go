// Package apiserver finds out whether an API server answers.
//
// Kanon starts once the API server answers, and logs when it later stops answering:
//
//	outages := apiserver.NewOutages()
//	config.Wrap(outages.Wrap) // observes all requests, sends none
//	...
//	if !apiserver.New(client, config.Host).Await(ctx) {
//		return nil // ctx has ended
//	}
//	outages.Begin(log)
//
// A command that needs an answer now asks once:
//
//	version, err := apiserver.New(client, config.Host).Version(ctx)
package apiserver
