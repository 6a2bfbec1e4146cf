// A proxy that adds a token and changes nothing else: the conformance suite cannot send one. `Host` and `Origin` go
// through as they came, because they are what is tested.
import http from "node:http";

const [listen, target, token] = process.argv.slice(2);
const { hostname, port } = new URL(target);
http
  .createServer((request, response) => {
    const headers = [];
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      if (request.rawHeaders[at].toLowerCase() !== "authorization") headers.push(request.rawHeaders[at], request.rawHeaders[at + 1]);
    }
    headers.push("Authorization", `Bearer ${token}`);
    const { method, url: path } = request;
    const onward = http.request({ hostname, port, method, path, headers, setHost: false }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  })
  .listen(Number(listen), "127.0.0.1");
