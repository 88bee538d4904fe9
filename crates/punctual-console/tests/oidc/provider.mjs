// A certified OpenID Connect provider for the tests, on a free port of this machine. It prints its issuer and its time as
// one line of JSON, and ends when its input ends, so that no test leaves one behind. Anybody signs in, with any password;
// the first part of their address is their only group.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, redirectUri, backTo] = process.argv.slice(2);
const { resolve } = createRequire(`${modules}/`);
const { Provider } = await import(pathToFileURL(resolve('oidc-provider')).href);

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'punctual',
      client_secret: 'a secret: with & and %',
      redirect_uris: [redirectUri],
      post_logout_redirect_uris: [backTo],
      response_types: ['code'],
      grant_types: ['authorization_code'],
    }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id, email_verified: true, name: 'Ada', groups: [id.split('@')[0]] }),
    }),
    cookies: { keys: ['for tests alone'] },
  });
  server.on('request', provider.callback());
  console.log(JSON.stringify({ issuer, now: new Date().toISOString() }));
});
process.stdin.on('end', () => process.exit(0)).resume();
