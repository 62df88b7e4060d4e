# Runs the server of this image. Arguments: those of uvicorn.
import atexit
import sys


class ServerOfImage(PromptServer):
    async def shutdown(self, sockets=None):
        await super().shutdown(sockets)
        # Its state is written, and its runs are given up. Python would wait for threads in which they still are: the signal
        # that uvicorn raises instead does not end the first process of a container.
        atexit._run_exitfuncs()
        os._exit(0)


command = import_module("uvicorn.main")
command.Server = ServerOfImage
# As with `python3 -m`: the server finds modules in its working directory.
sys.path[0] = os.getcwd()
command.main()
